---@meta fleet
-- Written by `make doc` from the tables in src/tables and from doc/generate/types.lua; change those.

---@alias fleet.kind
---| "network" # The connection failed or broke.
---| "tls" # The certificate of the server, or the encryption, was not accepted.
---| "timeout" # No answer came in time.
---| "auth" # The sign-in is missing or no longer valid: sign in again.
---| "forbidden" # The account or the key is not allowed to do this.
---| "scope" # The token lacks a scope: sign in again and grant it.
---| "not_found" # This account has no such vehicle, site or record.
---| "rate_limited" # Too many calls: wait, then try again.
---| "asleep" # The vehicle sleeps: wake it first.
---| "offline" # The vehicle has no connection: try again later.
---| "region" # The account lives in another region: fleet region finds it.
---| "unregistered" # The application is not registered in this region: register it with fleet setup.
---| "limit_exceeded" # A limit of the account or of the vehicle is reached.
---| "unsupported" # This token, vehicle or firmware cannot do this.
---| "key_not_paired" # The application's key is not on the vehicle: its owner adds it.
---| "refused" # The vehicle or the site refused, and says why.
---| "busy" # The vehicle or another process is busy: try again in some seconds.
---| "protocol" # The reply cannot be trusted or read.
---| "service" # Tesla's service or the vehicle failed: read the vehicle before you repeat a command.
---| "store" # The store cannot be read or written.
---| "conflict" # Another process changed the record in the meantime: read it again.
---| "budget" # One of your budgets is used up.
---| "cancelled" # The task was cancelled.
---| "closed" # The object is closed.
---| "invalid" # A value of the request was not accepted; the message says which.

---What client:authorize_url and client:add_scopes_url take.
---@class fleet.authorize_options
---@field scopes? string[]|string a list, or a text with blanks between them
---@field locale? string
---@field prompt? string
---@field login_hint? string
---@field nonce? string
---@field prompt_missing_scopes? boolean third-party apps only, as the next two
---@field require_requested_scopes? boolean
---@field show_keypair_step? boolean

---A failure as a value with facts; prints itself as a sentence.
---@class fleet.err
---@field kind fleet.kind
---@field message string
---@field outcome? "not_sent"|"refused"|"unknown" of a write
---@field status? integer HTTP status
---@field reason? string the service's or the vehicle's word
---@field fault? integer number of a protocol fault
---@field resynced? boolean of session:open: the session has taken a new epoch or counter, so that signing again may succeed
---@field retry_after? number seconds
---@field scope? string the scope that the call needs, the lesser one where two would do
---@field vin? string
---@field site? string
---@field request? string
---@field request_id? string the service's name of the exchange, for its support
---@field messages? table<string, string[]> what the service says of single fields
---@field problems? table[] of a configuration or a tariff that was not sent
---@field state? string of the vehicle, as it was last seen
---@field raw? string
---@field budget? fleet.spent where a budget forbids the call

---@class fleet.spent
---@field limit string "usd_per_month", "per_day.command"
---@field period "day"|"month"
---@field most number dollars or calls
---@field spent number
---@field calls { [string]: integer } of the period, by price class
---@field resets_at number UTC seconds

---@class fleet.cost
---@field month string "2026-03", of UTC
---@field account string
---@field vin? string
---@field usd number
---@field calls { [string]: integer } by price class
---@field days { date: string, usd: number, calls: table }[]
---@field vehicles? { vin: string, usd: number, calls: table }[] the dearest first
---@field budgets { name: string, most: number, spent: number, left: number }[]
---@field prices { date: string, source: string, usd: table }

---@class fleet.options
---@field region? "na"|"eu"|"cn" region of the account; a 421 corrects it (na)
---@field base_url? string base address that replaces the region's; http+unix:/path for a local proxy
---@field auth_url? string address of the authorization server
---@field token_url? string address for token requests of applications with a secret
---@field account? string name under which everything is stored (default)
---@field client_id? string client id of the application
---@field client_secret? string secret of the application; without one it is an open-source app and uses PKCE
---@field redirect_uri? string address to which the browser returns, exactly as registered
---@field scopes? string[] scopes to request at sign-in; by default all of an owner
---@field domain? string where the public key is hosted, such as app.example.com
---@field key? any file of the virtual key, or a key; the client then signs commands
---@field commands? "auto"|"signed"|"plain"|"proxy" how commands are sent; proxy needs proxy_url (auto)
---@field proxy_url? string address of a signing proxy
---@field store? any directory, address of a Redis, or a store; by default memory
---@field token? string an access token that you manage yourself
---@field timeout? number seconds for a whole call (30)
---@field connect_timeout? number seconds for connecting (10)
---@field max_response? integer largest reply in bytes, decompressed (10000000)
---@field ca_file? string file of certificates to trust, instead of the system's
---@field user_agent? string the User-Agent; by default fleet and its version
---@field proxy? string HTTP proxy; the one of the environment is not used
---@field http2? boolean reads share connections by HTTP/2 if the server offers it; false: HTTP/1.1 only (true)
---@field vendor? string service whose addresses to use (tesla)
---@field hosts? string[] hosts that a 421 may name when base_url is a custom one
---@field insecure_http? boolean allow http:// beyond loopback (false)
---@field insecure_key_mode? boolean allow a key file that others can read (false)
---@field store_key? string 32 bytes as hex or base64url, or @file: encrypts stored tokens and sessions
---@field log? any function that receives every event, without secrets
---@field budgets? table limits of cost and of calls; a call beyond them is not sent
---@field pacing? table calls a minute for a vehicle by price class; {} uses the published rate limits
---@field prices? table dollars a call by price class, instead of the published ones
---@field metrics? any function that receives every counted event, or fleet.metrics.prometheus()
---@field audit? any function that receives every write: who, what, outcome
---@field http? any function that makes the HTTP requests instead of the module

---@class fleet.call_options
---@field timeout? number seconds for the whole call
---@field wake? boolean wake a sleeping vehicle first: 0.02 USD (false)
---@field auth? "user"|"partner"|"business" use this kind of token instead of the call's first one
---@field idempotent? boolean the call may be repeated after an unknown outcome
---@field strict? boolean fail if the vehicle was already in that state (changed = false) (false)
---@field raw? boolean return the bytes of the reply; not for signed commands (false)
---@field force? boolean send what the client otherwise refuses to send (false)
---@field read_back? boolean return only when a read shows the energy setting (false)

---@class fleet.client
---@field partner fleet.partner
---@field user fleet.user
---@field charging fleet.charging
local client = {}

---@class fleet.vehicle
---@field vin string
local vehicle = {}

---@class fleet.site
---@field id string
local site = {}

---@class fleet.partner
local partner = {}

---@class fleet.user
local user = {}

---@class fleet.charging
local charging = {}

---@class fleet.params.vehicles
---@field page? integer where the walk starts; 1 to 1000000000
---@field per_page? integer records per request; 1 to 1000000
---@field page_size? integer another word for per_page; 1 to 1000000

---The vehicles of the account, 100 to a page.
---@param params? fleet.params.vehicles
---@param options? fleet.call_options
---@return fleet.pages
function client:vehicles(params, options) end

---The record of one vehicle with its state; never wakes it and does not keep it awake.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:info(options) end

---@class fleet.params.vehicle_data
---@field endpoints? ("charge_state"|"climate_state"|"closures_state"|"drive_state"|"gui_settings"|"location_data"|"charge_schedule_data"|"preconditioning_schedule_data"|"vehicle_config"|"vehicle_state"|"vehicle_data_combo")[] sections to read; location needs location_data from firmware 2023.38 on, which shows an icon in the vehicle
---@field from? "stream" the newest values of the client's telemetry receiver, without a call
---@field age? number seconds: how old a value of the stream may be; default 60
---@field fallback? "look" with from = "stream": a billed look where the stream lacks a section

---A live call to the vehicle: its present data by section. Polling it keeps the vehicle awake.
---@param params? fleet.params.vehicle_data
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:vehicle_data(params, options) end

---All drivers who may use the vehicle.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:drivers(options) end

---@class fleet.params.remove_driver
---@field share_user_id? string|integer user_id of the driver; left out, the access of the caller is removed

---Removes a driver. A share user removes only the own access, an owner any.
---@param params? fleet.params.remove_driver
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remove_driver(params, options) end

---@class fleet.params.fleet_status
---@field vins string[] the vehicles; a longer list is sent in pieces; 1 to 100

---Firmware, keys, protocol and telemetry client of vehicles. discounted_device_data comes only for one VIN.
---@param params fleet.params.fleet_status|string[]
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:fleet_status(params, options) end

---@class fleet.params.create_fleet_telemetry_config
---@field vins string[] the vehicles; 1 to 1000000
---@field config table hostname, port, ca, fields and more; doc/manual/telemetry-config.md
---@field audience? "fleet"|"vehicle" signed form: fleet is for every vehicle that trusts the key, vehicle for the one named

---Creates or replaces the telemetry configuration of vehicles. Through a key or the proxy it is signed and needs firmware 2024.26 (2025.20 on Intel Atom based S and X).
---@param params fleet.params.create_fleet_telemetry_config
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:create_fleet_telemetry_config(params, options) end

---The telemetry configuration, with synced and limit_reached.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:fleet_telemetry_config(options) end

---Removes the telemetry configuration; with a partner token that of any vehicle.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:delete_fleet_telemetry_config(options) end

---@class fleet.params.create_fleet_telemetry_config_jws
---@field vins string[] the vehicles; 1 to 1000000
---@field token string the signed configuration, a compact JWS

---Applies a telemetry configuration that was signed elsewhere.
---@param params fleet.params.create_fleet_telemetry_config_jws
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:create_fleet_telemetry_config_jws(params, options) end

---Telemetry errors that the vehicle reported after it received its configuration.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:fleet_telemetry_errors(options) end

---Whether mobile access is switched on in the vehicle.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:mobile_enabled(options) end

---@class fleet.params.nearby_charging_sites
---@field count? integer how many of each kind at most; 1 to 1000
---@field radius? number how far; miles; 0 to 12500
---@field detail? boolean with amenities and billing

---Charging sites near the present place of the vehicle.
---@param params? fleet.params.nearby_charging_sites
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:nearby_charging_sites(params, options) end

---The state of a service visit.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:service_data(options) end

---@class fleet.params.invitations
---@field page? integer where the walk starts; 1 to 1000000000
---@field per_page? integer records per request; 1 to 25
---@field page_size? integer another word for per_page; 1 to 25

---The active invitations to share the vehicle, at most 25 to a page.
---@param params? fleet.params.invitations
---@param options? fleet.call_options
---@return fleet.pages
function vehicle:invitations(params, options) end

---Creates a link that gives one person access for driving: single use, valid for 24 hours.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:create_invitation(options) end

---@class fleet.params.redeem_invitation
---@field code string the code, or the whole link

---Redeems an invitation: this account gains access to the vehicle.
---@param params fleet.params.redeem_invitation
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:redeem_invitation(params, options) end

---Makes the link of an invitation invalid.
---@param id string|integer the invitation
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:revoke_invitation(id, options) end

---@class fleet.params.signed_command
---@field routable_message string a serialised RoutableMessage

---Carries one message of the vehicle command protocol and returns the answer's bytes.
---@param params fleet.params.signed_command|string
---@param options? fleet.call_options
---@return string? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:signed_command(params, options) end

---Specifications as sold and the present estimate of the battery, of any vehicle. 0.10 dollars each.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:specs(options) end

---Alerts that the vehicle raised recently.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:recent_alerts(options) end

---@class fleet.params.release_notes
---@field staged? boolean of the update that waits for installation
---@field language? integer number of a language; 0 to 1000

---Release notes of the firmware.
---@param params? fleet.params.release_notes
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:release_notes(params, options) end

---Asks a sleeping vehicle to wake and returns at once; state tells when it is online, after 10 to 60 s.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:wake_up(options) end

---Vehicles and energy sites of the account in one list; without the scope energy_device_data it has no energy sites.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:products(options) end

---@class fleet.params.backup
---@field backup_reserve_percent integer what the battery keeps for an outage; percent; 0 to 100

---Sets the backup reserve.
---@param params fleet.params.backup
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:backup(params, options) end

---@class fleet.params.backup_history
---@field start_date? string|number begin of the range, included
---@field end_date? string|number end of the range, excluded
---@field period? "day"|"week"|"month"|"year"|"lifetime" how far the reply reaches: its entries are shorter
---@field time_zone? string IANA name, such as Europe/Berlin
---@field day? string a local date in place of the range
---@field split? integer a longer range of local dates is read in pieces of so many days and joined; days; 1 to 366

---Times without grid; durations in seconds.
---@param params? fleet.params.backup_history
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function site:backup_history(params, options) end

---@class fleet.params.energy_history
---@field start_date? string|number begin of the range, included
---@field end_date? string|number end of the range, excluded
---@field period? "day"|"week"|"month"|"year"|"lifetime" how far the reply reaches: its entries are shorter
---@field time_zone? string IANA name, such as Europe/Berlin
---@field day? string a local date in place of the range
---@field split? integer a longer range of local dates is read in pieces of so many days and joined; days; 1 to 366

---Energy by source and use, in Wh.
---@param params? fleet.params.energy_history
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function site:energy_history(params, options) end

---@class fleet.params.charge_history
---@field start_date? string|number begin of the range, included
---@field end_date? string|number end of the range, excluded
---@field time_zone? string IANA name, such as Europe/Berlin
---@field day? string a local date in place of the range
---@field split? integer a longer range of local dates is read in pieces of so many days and joined; days; 1 to 366

---Charging at the wall connectors; energy in Wh.
---@param params? fleet.params.charge_history
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function site:charge_history(params, options) end

---@class fleet.params.grid_import_export
---@field disallow_charge_from_grid_with_solar_installed? boolean true forbids charging the battery from the grid
---@field customer_preferred_export_rule? "battery_ok"|"pv_only"|"never" what may be sold: battery and sun, sun only, nothing

---Allows or forbids charging from the grid and exporting to it; at least one of the two.
---@param params? fleet.params.grid_import_export
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:grid_import_export(params, options) end

---Present power in W, energy in Wh, grid and storm state. battery_power above 0 discharges, grid_power above 0 imports.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function site:live_status(options) end

---@class fleet.params.off_grid_vehicle_charging_reserve
---@field off_grid_vehicle_charging_reserve_percent integer charging vehicles stops at this level while off grid; percent; 0 to 100

---Sets what charging vehicles leaves in the battery while off grid.
---@param params fleet.params.off_grid_vehicle_charging_reserve
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:off_grid_vehicle_charging_reserve(params, options) end

---@class fleet.params.operation
---@field default_real_mode "autonomous"|"self_consumption" autonomous: by time of use; self_consumption: self-powered; backup (not published, with force = true): the battery is filled and kept full

---Sets the mode of the site.
---@param params fleet.params.operation
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:operation(params, options) end

---What the site consists of, can do and is set to, with its tariff.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function site:site_info(options) end

---@class fleet.params.storm_mode
---@field enabled boolean take part in storm watch

---Switches storm watch.
---@param params fleet.params.storm_mode
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:storm_mode(params, options) end

---@class fleet.params.time_of_use_settings
---@field tariff_content_v2 table the whole tariff

---Sets the tariff of the site; it is checked first.
---@param params fleet.params.time_of_use_settings|table
---@param options? fleet.call_options
---@return fleet.setting? result
---@return fleet.err err
---@return fleet.kind kind
function site:time_of_use_settings(params, options) end

---@class fleet.params.partner_register
---@field domain string lower case, without scheme or path

---Registers the application in this region; its public key must be hosted at the domain.
---@param params fleet.params.partner_register
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function partner:register(params, options) end

---@class fleet.params.partner_public_key
---@field domain string a registered domain

---The public key registered for a domain: an uncompressed point in hex.
---@param params fleet.params.partner_public_key
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function partner:public_key(params, options) end

---Recent telemetry errors of all vehicles.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function partner:fleet_telemetry_errors(options) end

---The vehicles that reported telemetry errors.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function partner:fleet_telemetry_error_vins(options) end

---A summary of the account.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:me(options) end

---Active orders.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:orders(options) end

---The region of the account and the base address that fits.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:region(options) end

---Features that are switched on for the account.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:feature_config(options) end

---The backup key of the account.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:backup_key(options) end

---The notifications that the account has subscribed to.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:subscriptions(options) end

---Subscribes to notifications. The body is not published and sent as given.
---@param params table
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:set_subscriptions(params, options) end

---The vehicles whose notifications the account has subscribed to.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:vehicle_subscriptions(options) end

---Subscribes to notifications of vehicles. The body is not published and sent as given.
---@param params table
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function user:set_vehicle_subscriptions(params, options) end

---Subscriptions that the vehicle may have.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:subscriptions_eligibility(options) end

---Upgrades that the vehicle may have.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:upgrades_eligibility(options) end

---The option codes of the vehicle.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:options(options) end

---Active, coming and expired warranties.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:warranty(options) end

---The roles of a vehicle in a business account.
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:roles(options) end

---@class fleet.params.payer
---@field role string the role that pays
---@field federation_id? string of the business
---@field account_id? string of the account that pays

---Sets who pays for a vehicle's use in a business account.
---@param params fleet.params.payer
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:payer(params, options) end

---Prices of a model in a market. The members of the request are not published; the table is sent as given.
---@param params table
---@param options? fleet.call_options
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function client:pricing(params, options) end

---@class fleet.params.charging_history
---@field vin? string one vehicle only
---@field startTime? string|number begin of the range
---@field endTime? string|number end of the range
---@field sortBy? string a field of the record
---@field sortOrder? "asc"|"desc"|"ASC"|"DESC" ascending or descending
---@field pageNo? integer where the walk starts; 1 to 1000000000
---@field pageSize? integer records per request; 1 to 1000000
---@field page_size? integer another word for pageSize; 1 to 1000000

---Paid charging, with fees and the ids of invoices.
---@param params? fleet.params.charging_history
---@param options? fleet.call_options
---@return fleet.pages
function charging:history(params, options) end

---@class fleet.params.charging_invoice
---@field to? string a file to write; left out, the bytes are returned
---@field overwrite? boolean replace a file that exists

---The invoice of a charging event as PDF.
---@param id string|integer contentId of an invoice in the history
---@param params? fleet.params.charging_invoice
---@param options? fleet.call_options
---@return string? result
---@return fleet.err err
---@return fleet.kind kind
function charging:invoice(id, params, options) end

---@class fleet.params.charging_sessions
---@field vin? string one vehicle only
---@field date_from? string|number begin of the range
---@field date_to? string|number end of the range
---@field offset? integer where the walk starts; 0 to 1000000000
---@field limit? integer records per request; 1 to 1000000
---@field page_size? integer another word for limit; 1 to 1000000

---Charging sessions with prices and energy, of business accounts that own a fleet.
---@param params? fleet.params.charging_sessions
---@param options? fleet.call_options
---@return fleet.pages
function charging:sessions(params, options) end

---Locks the doors.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:door_lock(options) end

---Unlocks the doors.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:door_unlock(options) end

---@class fleet.params.actuate_trunk
---@field which_trunk "front"|"rear" which of the two

---Opens the front trunk, or opens or closes the rear one.
---@param params fleet.params.actuate_trunk
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:actuate_trunk(params, options) end

---@class fleet.params.open_trunk
---@field which_trunk "front"|"rear" which of the two

---Opens a trunk. A trunk that is open stays open.
---@param params fleet.params.open_trunk
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:open_trunk(params, options) end

---@class fleet.params.close_trunk
---@field which_trunk "front"|"rear" which of the two

---Closes a trunk that has a motor; few front ones have one. A trunk that is closed stays closed.
---@param params fleet.params.close_trunk
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:close_trunk(params, options) end

---Opens the tonneau cover.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:open_tonneau(options) end

---Closes the tonneau cover.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:close_tonneau(options) end

---Stops the tonneau cover.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:stop_tonneau(options) end

---@class fleet.params.window_control
---@field command "vent"|"close" what to do
---@field lat? number latitude; degrees; -90 to 90
---@field lon? number longitude; degrees; -180 to 180

---Vents or closes the windows; the plain form closes them only with a position near the vehicle, except on the Model 3 platform.
---@param params fleet.params.window_control
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:window_control(params, options) end

---@class fleet.params.sun_roof_control
---@field state "stop"|"close"|"vent"|"open" what to do; stop has no signed form, open no published plain one

---Moves the sun roof.
---@param params fleet.params.sun_roof_control
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:sun_roof_control(params, options) end

---Allows driving without a key for two minutes. Needs keyless driving enabled.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_start_drive(options) end

---@class fleet.params.trigger_homelink
---@field lat number latitude; degrees; -90 to 90
---@field lon number longitude; degrees; -180 to 180
---@field token? string taken by the plain form

---Opens or closes what HomeLink is taught to, such as a garage door.
---@param params fleet.params.trigger_homelink
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:trigger_homelink(params, options) end

---Flashes the lights. Needs park.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:flash_lights(options) end

---Sounds the horn twice. Needs park.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:honk_horn(options) end

---@class fleet.params.remote_boombox
---@field sound "random"|"locate_ping"|0|2000 which sound

---Plays a sound on the external speaker.
---@param params fleet.params.remote_boombox
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_boombox(params, options) end

---Starts charging.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_start(options) end

---Stops charging.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_stop(options) end

---Sets the charge limit to the standard.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_standard(options) end

---Sets the charge limit to the maximum.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_max_range(options) end

---Opens the charge port door or releases the cable.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_port_door_open(options) end

---Closes the charge port door.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:charge_port_door_close(options) end

---@class fleet.params.set_charge_limit
---@field percent integer of the battery; the vehicle's own bounds are charge_limit_soc_min and _max; percent; 50 to 100

---Sets the charge limit.
---@param params fleet.params.set_charge_limit
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_charge_limit(params, options) end

---@class fleet.params.set_charging_amps
---@field charging_amps integer the vehicle's own bound is charge_current_request_max; A; 0 to 80

---Sets the charging current.
---@param params fleet.params.set_charging_amps
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_charging_amps(params, options) end

---@class fleet.params.set_scheduled_charging
---@field enable boolean true uses the time
---@field time? integer when to start, vehicle's local time; minutes after midnight; 0 to 1440

---Starts charging at a time of day; newer firmware adds a schedule with every call.
---@param params fleet.params.set_scheduled_charging
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_scheduled_charging(params, options) end

---@class fleet.params.set_scheduled_departure
---@field enable boolean false clears everything
---@field departure_time? integer when to be ready, local time; minutes after midnight; 0 to 1440
---@field preconditioning_enabled? boolean condition the cabin
---@field preconditioning_weekdays_only? boolean on weekdays only; wins over preconditioning_enabled
---@field off_peak_charging_enabled? boolean charge at off-peak hours
---@field off_peak_charging_weekdays_only? boolean on weekdays only; wins over off_peak_charging_enabled
---@field end_off_peak_time? integer when off-peak hours end, local time; minutes after midnight; 0 to 1440

---Has the vehicle charged and conditioned at a time of day; newer firmware adds a schedule with every call.
---@param params fleet.params.set_scheduled_departure
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_scheduled_departure(params, options) end

---@class fleet.params.add_charge_schedule
---@field days_of_week string|string[]|integer on which days
---@field enabled boolean the schedule is in use
---@field lat number latitude; degrees; -90 to 90
---@field lon number longitude; degrees; -180 to 180
---@field start_enabled boolean start_time counts
---@field start_time? integer when to start, local time; minutes after midnight; 0 to 1440
---@field end_enabled boolean end_time counts
---@field end_time? integer when to end, local time; minutes after midnight; 0 to 1440
---@field one_time? boolean once, then it is done
---@field id? string|integer your number for it; without one every call adds a schedule with a fresh number
---@field name? string a name for people

---Adds a charging schedule with a start, an end or both, or replaces the one with this id.
---@param params fleet.params.add_charge_schedule
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:add_charge_schedule(params, options) end

---@class fleet.params.remove_charge_schedule
---@field id string|integer the schedule

---Removes a charging schedule.
---@param params fleet.params.remove_charge_schedule
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remove_charge_schedule(params, options) end

---@class fleet.params.batch_remove_charge_schedules
---@field home? boolean those at home
---@field work? boolean those at work
---@field other? boolean those elsewhere

---Removes the charging schedules of places.
---@param params? fleet.params.batch_remove_charge_schedules
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:batch_remove_charge_schedules(params, options) end

---Managed charging of fleets: the current in amperes. The body is not published and sent as given.
---@param params table
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_managed_charge_current_request(params, options) end

---Managed charging of fleets: where it applies. The body is not published and sent as given.
---@param params table
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_managed_charger_location(params, options) end

---Managed charging of fleets: when it starts. The body is not published and sent as given.
---@param params table
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_managed_scheduled_charging_time(params, options) end

---@class fleet.params.auto_conditioning_start
---@field manual_override? boolean|"socdoors" forces it although the battery is low, a door is open or Dog Mode is on; ask the user first. The plain form takes the text socdoors, too

---Starts conditioning the cabin.
---@param params? fleet.params.auto_conditioning_start
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:auto_conditioning_start(params, options) end

---Stops conditioning the cabin.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:auto_conditioning_stop(options) end

---@class fleet.params.set_temps
---@field driver_temp? number driver's side; the vehicle's own bounds are min_avail_temp and max_avail_temp; °C; 15 to 30
---@field passenger_temp? number passenger's side; °C; 15 to 30

---Sets the cabin temperatures. Of one alone the other is read first and sent as it is, because a missing one counts as the lowest.
---@param params? fleet.params.set_temps
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_temps(params, options) end

---@class fleet.params.set_preconditioning_max
---@field on boolean true switches it on
---@field manual_override? boolean|"socdoors" forces it although the battery is low, a door is open or Dog Mode is on; ask the user first. The plain form takes the text socdoors, too

---Defrosts with everything at the maximum.
---@param params fleet.params.set_preconditioning_max
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_preconditioning_max(params, options) end

---@class fleet.params.set_climate_keeper_mode
---@field climate_keeper_mode "off"|"keep"|"on"|"dog"|"camp"|0|1|2|3 what for
---@field manual_override? boolean|"socdoors" forces it although the battery is low, a door is open or Dog Mode is on; ask the user first. The plain form takes the text socdoors, too

---Keeps the climate while the vehicle is parked.
---@param params fleet.params.set_climate_keeper_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_climate_keeper_mode(params, options) end

---@class fleet.params.set_bioweapon_mode
---@field on boolean true switches it on
---@field manual_override boolean|"socdoors" forces it although the battery is low, a door is open or Dog Mode is on; ask the user first. The plain form takes the text socdoors, too

---Switches the strongest air filtering.
---@param params fleet.params.set_bioweapon_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_bioweapon_mode(params, options) end

---@class fleet.params.set_cabin_overheat_protection
---@field on boolean true switches it on
---@field fan_only? boolean with the fan only, without cooling

---Keeps the parked cabin from overheating.
---@param params fleet.params.set_cabin_overheat_protection
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_cabin_overheat_protection(params, options) end

---@class fleet.params.set_cop_temp
---@field cop_temp "low"|"medium"|"high"|0|1|2 low 30 °C (90 °F), medium 35 °C (95 °F), high 40 °C (100 °F)

---Sets when overheat protection acts; does not switch it on.
---@param params fleet.params.set_cop_temp
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_cop_temp(params, options) end

---@class fleet.params.remote_seat_heater_request
---@field seat_position "front_left"|"front_right"|"rear_left"|"rear_left_back"|"rear_center"|"rear_right"|"rear_right_back"|"third_left"|"third_right"|0|1|2|3|4|5|6|7|8 which seat; numbers differ from the other seat commands
---@field level "off"|"low"|"medium"|"high"|0|1|2|3 how much; 0 is off

---Heats a seat. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_seat_heater_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_seat_heater_request(params, options) end

---@class fleet.params.remote_seat_cooler_request
---@field seat_position "front_left"|"front_right"|1|2 which seat
---@field seat_cooler_level "off"|"low"|"medium"|"high"|1|2|3|4 how much; 1 is off

---Cools a seat. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_seat_cooler_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_seat_cooler_request(params, options) end

---@class fleet.params.remote_auto_seat_climate_request
---@field auto_seat_position "front_left"|"front_right"|1|2 which seat
---@field auto_climate_on boolean true switches it on

---Lets a seat heat and cool by itself. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_auto_seat_climate_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_auto_seat_climate_request(params, options) end

---@class fleet.params.remote_steering_wheel_heater_request
---@field on boolean true switches it on

---Heats the steering wheel of vehicles that do not heat it by themselves. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_steering_wheel_heater_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_steering_wheel_heater_request(params, options) end

---@class fleet.params.remote_steering_wheel_heat_level_request
---@field level "off"|"low"|"high"|0|1|3 how much; there is no level 2: it is refused

---Sets how much the steering wheel is heated. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_steering_wheel_heat_level_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_steering_wheel_heat_level_request(params, options) end

---@class fleet.params.remote_auto_steering_wheel_heat_climate_request
---@field on boolean true switches it on

---Lets the steering wheel heat by itself. Needs preconditioning or climate keeper on.
---@param params fleet.params.remote_auto_steering_wheel_heat_climate_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remote_auto_steering_wheel_heat_climate_request(params, options) end

---@class fleet.params.add_precondition_schedule
---@field days_of_week string|string[]|integer on which days
---@field enabled boolean the schedule is in use
---@field lat number latitude; degrees; -90 to 90
---@field lon number longitude; degrees; -180 to 180
---@field precondition_time integer when to be ready, local time; minutes after midnight; 0 to 1440
---@field one_time? boolean once, then it is done
---@field id? string|integer your number for it; without one every call adds a schedule with a fresh number
---@field name? string a name for people

---Adds a preconditioning schedule, or replaces the one with this id.
---@param params fleet.params.add_precondition_schedule
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:add_precondition_schedule(params, options) end

---@class fleet.params.remove_precondition_schedule
---@field id string|integer the schedule

---Removes a preconditioning schedule.
---@param params fleet.params.remove_precondition_schedule
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remove_precondition_schedule(params, options) end

---@class fleet.params.batch_remove_precondition_schedules
---@field home? boolean those at home
---@field work? boolean those at work
---@field other? boolean those elsewhere

---Removes the preconditioning schedules of places.
---@param params? fleet.params.batch_remove_precondition_schedules
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:batch_remove_precondition_schedules(params, options) end

---@class fleet.params.adjust_volume
---@field volume number the vehicle's own bound is audio_volume_max; a signed command takes 10 at most; 0 to 11

---Sets the volume. Needs a user in the vehicle and mobile access enabled.
---@param params fleet.params.adjust_volume
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:adjust_volume(params, options) end

---One step louder.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_volume_up(options) end

---One step quieter.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_volume_down(options) end

---Plays or pauses.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_toggle_playback(options) end

---Skips to the next track.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_next_track(options) end

---Goes back a track.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_prev_track(options) end

---Skips to the next favourite.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_next_fav(options) end

---Goes back a favourite.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:media_prev_fav(options) end

---@class fleet.params.navigation_request
---@field type? string the one value that is published
---@field value table|string the address; or the shared content, a table with android.intent.extra.TEXT
---@field locale? string language of the address
---@field timestamp_ms? string now, as Unix time; ms

---Sends a place to the navigation, as the share dialogue of a phone does.
---@param params fleet.params.navigation_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:navigation_request(params, options) end

---@class fleet.params.navigation_gps_request
---@field lat number latitude; degrees; -90 to 90
---@field lon number longitude; degrees; -180 to 180
---@field order? "unspecified"|"replace"|"prepend"|"append"|0|1|2|3 where among several stops

---Navigates to coordinates.
---@param params fleet.params.navigation_gps_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:navigation_gps_request(params, options) end

---@class fleet.params.navigation_sc_request
---@field id string|integer the site, as in nearby_charging_sites
---@field order? "unspecified"|"replace"|"prepend"|"append"|0|1|2|3 where among several stops

---Navigates to a charging site.
---@param params fleet.params.navigation_sc_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:navigation_sc_request(params, options) end

---@class fleet.params.navigation_waypoints_request
---@field waypoints string|string[] refId:<place id>, a list of them or one text joined by commas

---Sends a list of waypoints to the navigation.
---@param params fleet.params.navigation_waypoints_request
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:navigation_waypoints_request(params, options) end

---@class fleet.params.upcoming_calendar_entries
---@field calendar_data string|table the entries. Their form is not published; clients send JSON text or an object

---Stores calendar entries in the vehicle.
---@param params fleet.params.upcoming_calendar_entries
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:upcoming_calendar_entries(params, options) end

---@class fleet.params.take_drivenote
---@field note string the service cuts it at 80 characters

---Records a note for the vehicle's maker.
---@param params fleet.params.take_drivenote
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:take_drivenote(params, options) end

---@class fleet.params.schedule_software_update
---@field offset_sec integer from now; s; 0 to 2147483647

---Installs a waiting update later.
---@param params fleet.params.schedule_software_update
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:schedule_software_update(params, options) end

---Cancels an update whose installation has not begun.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:cancel_software_update(options) end

---@class fleet.params.set_low_power_mode
---@field enable boolean true switches it on

---Saves energy while parked.
---@param params fleet.params.set_low_power_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_low_power_mode(params, options) end

---@class fleet.params.keep_accessory_power_mode
---@field enable boolean true switches it on

---Keeps the accessory power on while parked.
---@param params fleet.params.keep_accessory_power_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:keep_accessory_power_mode(params, options) end

---@class fleet.params.set_sentry_mode
---@field on boolean true switches it on

---Switches Sentry Mode.
---@param params fleet.params.set_sentry_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_sentry_mode(params, options) end

---@class fleet.params.set_valet_mode
---@field on boolean true switches it on
---@field password? string the PIN to switch it on; the plain form takes it to switch it off, too; signed, no PIN is sent then and none is checked

---Switches Valet Mode; the PIN switches it off in the vehicle.
---@param params fleet.params.set_valet_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_valet_mode(params, options) end

---Forgets the PIN of Valet Mode, which must be off.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:reset_valet_pin(options) end

---@class fleet.params.set_pin_to_drive
---@field on boolean true switches it on
---@field password? string the PIN; taken only when none is stored

---Switches PIN to Drive; a PIN that is stored already stays as it is.
---@param params fleet.params.set_pin_to_drive
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_pin_to_drive(params, options) end

---Forgets the PIN of PIN to Drive, which must not be active.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:reset_pin_to_drive_pin(options) end

---Switches PIN to Drive off and forgets its PIN.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:clear_pin_to_drive_admin(options) end

---@class fleet.params.speed_limit_activate
---@field pin string four digits

---Switches Speed Limit Mode on.
---@param params fleet.params.speed_limit_activate
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:speed_limit_activate(params, options) end

---@class fleet.params.speed_limit_deactivate
---@field pin string the PIN that switched it on

---Switches Speed Limit Mode off.
---@param params fleet.params.speed_limit_deactivate
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:speed_limit_deactivate(params, options) end

---@class fleet.params.speed_limit_set_limit
---@field limit_mph number the vehicle's own bounds are min_limit_mph and max_limit_mph; mph; 50 to 120

---Sets the limit of Speed Limit Mode.
---@param params fleet.params.speed_limit_set_limit
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:speed_limit_set_limit(params, options) end

---@class fleet.params.speed_limit_clear_pin
---@field pin string the PIN that switched it on

---Switches Speed Limit Mode off and forgets its PIN.
---@param params fleet.params.speed_limit_clear_pin
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:speed_limit_clear_pin(params, options) end

---Switches Speed Limit Mode off and forgets its PIN, without knowing it.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:speed_limit_clear_pin_admin(options) end

---@class fleet.params.parental_controls_activate
---@field pin string four digits

---Switches Parental Controls on.
---@param params fleet.params.parental_controls_activate
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_activate(params, options) end

---@class fleet.params.parental_controls_deactivate
---@field pin string the PIN that switched it on

---Switches Parental Controls off.
---@param params fleet.params.parental_controls_deactivate
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_deactivate(params, options) end

---@class fleet.params.parental_controls_clear_pin
---@field pin string the PIN that switched them on

---Switches Parental Controls off and forgets their PIN.
---@param params fleet.params.parental_controls_clear_pin
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_clear_pin(params, options) end

---Forgets the PIN of Parental Controls, without knowing it.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_clear_pin_admin(options) end

---@class fleet.params.parental_controls_enable_setting
---@field setting "speed_limit"|"acceleration"|"safety_features"|"curfew"|"browser_blocked"|"theater_blocked"|"arcade_blocked"|"SpeedLimit"|"Acceleration"|"SafetyFeatures"|"Curfew"|"BrowserBlocked"|"TheaterBlocked"|"ArcadeBlocked" what
---@field enable boolean true restricts it

---Chooses what Parental Controls restrict, only while they are not active.
---@param params fleet.params.parental_controls_enable_setting
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_enable_setting(params, options) end

---@class fleet.params.parental_controls_set_speed_limit
---@field limit_mph number the limit; mph; 1 to 200

---Sets the speed limit of Parental Controls, only while they are not active; needs the setting SpeedLimit.
---@param params fleet.params.parental_controls_set_speed_limit
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:parental_controls_set_speed_limit(params, options) end

---@class fleet.params.guest_mode
---@field enable boolean true switches it on

---Switches Guest Mode, which restricts what can be set in the vehicle.
---@param params fleet.params.guest_mode
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:guest_mode(params, options) end

---Erases the user's data in the vehicle. Needs park and Guest Mode.
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:erase_user_data(options) end

---@class fleet.params.add_key
---@field public_key string|fleet.key the key that is to open the vehicle: PEM text, 130 hex digits or 65 bytes
---@field role "driver"|"owner"|"fleet_manager"|"vehicle_monitor"|"charging_manager"|"guest" what it may do; owner and fleet_manager with force = true only
---@field form_factor? "nfc_card"|"ios_device"|"android_device"|"cloud_key" what holds it, as the vehicle shows it

---Gives a key access to the vehicle; needs an owner's key.
---@param params fleet.params.add_key
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:add_key(params, options) end

---@class fleet.params.remove_key
---@field public_key string|fleet.key the key, as car:keys() shows it

---Takes a key's access away; needs an owner's key. The client's own key goes with force = true only.
---@param params fleet.params.remove_key
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:remove_key(params, options) end

---@class fleet.params.set_vehicle_name
---@field vehicle_name string the name

---Names the vehicle; not in Guest Mode.
---@param params fleet.params.set_vehicle_name
---@param options? fleet.call_options
---@return fleet.changed? result
---@return fleet.err err
---@return fleet.kind kind
function vehicle:set_vehicle_name(params, options) end

---What a command did. changed is false when the vehicle already had the wanted state.
---@class fleet.changed
---@field changed boolean
---@field perhaps_changed? true beside changed = false: an earlier attempt of this call got no answer
---@field reason? string the vehicle's word
---@field via "signed"|"plain"|"proxy"
---@field authenticated boolean the answer was signed by the vehicle

---What the service answered to an energy setting. changed = true: the service accepted it; it may have been set before.
---@class fleet.setting
---@field changed boolean false: the site holds it already
---@field code? integer
---@field message? string

---A list in pages: a generic for walks all of them and raises err.
---@class fleet.pages
---@field collect fun(self: fleet.pages): table[]?, fleet.err?, fleet.kind?
---@field pages fun(self: fleet.pages): fun(): table[]
---@overload fun(): any

---@class fleet.task
---@field wait fun(self: fleet.task): ... what the function returned; an error in it raises again
---@field cancel fun(self: fleet.task)
---@field close fun(self: fleet.task)
local task = {}

---@class fleet.module
---@field _VERSION string
---@field null any JSON null, for sending
---@field loop table fd, pollfd, getfd, events, timeout, dirty, step, watch, clock, wait
---@field store table stores of tokens, sessions and counts
---@field tariff table time-of-use tariffs
---@field key table virtual keys
local fleet = {}

---A client. Raises for a wrong option; touches no file and no network.
---@param options fleet.options
---@return fleet.client
function fleet.new(options) end

---A client from a JSON file of options and the variables FLEET_..., which come before it.
---@param path? string
---@return fleet.client? client
---@return fleet.err err
---@return fleet.kind kind
function fleet.from_config(path) end

---The same client or handle, whose calls raise err in place of returning it.
---@generic T
---@param object T
---@return T
function fleet.throwing(object) end

---Starts a task. It first runs in the next step of the loop, or later if more than sixteen tasks wait.
---@param fn function
---@param ... any
---@return fleet.task
function fleet.spawn(fn, ...) end

---Runs until all tasks have ended; returns what fn returned.
---@param fn function
---@param ... any
function fleet.run(fn, ...) end

---@param seconds number
function fleet.sleep(seconds) end

---Calls fn for every item, several at a time; one failure never stops the rest.
---@param list any[]
---@param fn fun(item: any): any, fleet.err?, fleet.kind?
---@param options? { concurrency?: integer, progress?: function, skip?: function, longest_pause?: number }
---@return { item: any, ok: boolean, value: any, err: fleet.err? }[]
function fleet.map(list, fn, options) end

---Finishes what is in flight, saves, and reports what stayed unknown.
function fleet.drain() end

---UTC seconds of RFC 3339 text or of milliseconds.
---@param value string|number
---@return number?
function fleet.time(value) end

---@return table[] endpoints the rows of all endpoints, a fresh list
function fleet.endpoints() end

---@return table[] commands the rows of all commands, a fresh list
function fleet.commands() end

---@return table[] reasons the rows of all reasons, a fresh list
function fleet.reasons() end

---A command as the bytes that are signed; nil when it has no signed form, or none that is published and unpublished was
---not asked for.
---@param name string
---@param params? table
---@param options? { unpublished?: boolean }
---@return { domain: string, payload: string }? command
---@return fleet.err err
---@return fleet.kind kind
function fleet.command(name, params, options) end

---@param domain string
---@param payload string
---@return string? name
---@return table|fleet.err params
---@return table[]|fleet.kind? further parameters for further seats
function fleet.decode_command(domain, payload) end

---@param bytes string
---@return string
function fleet.base64(bytes) end

---@param text string
---@return string?
function fleet.unbase64(text) end

---A handle for one vehicle; makes no call.
---@param vin string
---@return fleet.vehicle
function client:vehicle(vin) end

---A handle for one energy site; makes no call.
---@param id string|integer
---@return fleet.site
function client:energy_site(id) end

---The energy sites of the account, by one free call: for site, record in client:energy_sites() do.
---@param options? fleet.options
---@return fleet.pages
function client:energy_sites(options) end

---Any row's call by its name; args include the path arguments.
---@param name string
---@param args? table
---@param options? fleet.call_options
function client:call(name, args, options) end

---The address that a person opens to sign in, and what authorize needs to check the answer (secret). Without scopes, here and in
---fleet.new, all of an owner are asked for; openid is added to offline_access.
---@param options? fleet.authorize_options
---@return string? url
---@return table|fleet.err pending
function client:authorize_url(options) end

---@param callback string the address that the browser came back with, or a bare code
---@param pending table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:authorize(callback, pending) end

---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:refresh() end

---@param options? table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:partner_login(options) end

---@param options table
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:business_login(options) end

---What the stored token says about itself; hints, not verified.
---@return table? info
---@return fleet.err err
---@return fleet.kind kind
function client:token_info() end

---Refreshes a pair older than 30 days.
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:keep_alive() end

---@param options? table
---@return string url
function client:consent_url(options) end

---@param options table
---@return string? url
---@return table|fleet.err pending
function client:add_scopes_url(options) end

---Which scopes are asked for by default, and which were granted; granted and missing are absent when no token names them.
---@return { asked: string[], granted?: string[], missing?: string[] }? scopes
---@return fleet.err err
---@return fleet.kind kind
function client:scopes() end

---Removes the account's tokens from the store and from memory: of all kinds, or of one.
---@param options? { auth?: "user"|"partner"|"business" }
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function client:logout(options) end

---Calls a path of the service, also one that has no row.
---@param method "GET"|"POST"|"DELETE"
---@param path string below the base address, with its query
---@param body? table|string
---@param options? fleet.call_options
---@return any value
---@return fleet.err err
---@return fleet.kind kind
function client:request(method, path, body, options) end

---@param options? { domain?: string, vin?: string }
---@return string url
function client:pairing_url(options) end

---Finds the region in which the account lives, and uses it from now on.
---@return { region: string?, base_url: string }? found
---@return fleet.err err
---@return fleet.kind kind
function client:discover_region() end

---Compares the application's key here, hosted and registered.
---@param options? { domain?: string, key_url?: string }
---@return { ok: boolean, lines: table[] }
function partner:check(options) end

---What the account has spent, as its store counted it.
---@param options? { month?: string, vehicle?: string|fleet.vehicle }
---@return fleet.cost? cost
---@return fleet.err err
---@return fleet.kind kind
function client:cost(options) end

---Ends the client; may be called again.
function client:close() end

---Wakes the vehicle and waits until it is online.
---@param options? { timeout?: number }
---@return boolean? online
---@return fleet.err err
---@return fleet.kind kind
function vehicle:wake(options) end

---Whether a write of unknown outcome was done: one billed read, never waking.
---@param err fleet.err
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function vehicle:settle(err) end

---Vehicle data over the signed protocol.
---@param sections string[]
---@return table? data
---@return fleet.err err
---@return fleet.kind kind
function vehicle:signed_data(sections) end

---Waits until the vehicle has taken its telemetry configuration over: 1800 seconds, some 35 priced reads. Ends at once with
---"refused" or "limit_exceeded" where the vehicle holds no configuration of this application, or can hold none.
---@param options? { timeout?: number }
---@return table? config
---@return fleet.err err
---@return fleet.kind kind
function vehicle:wait_telemetry_synced(options) end

---The position of the car and its age, by one live read.
---@param options? table
---@return { lat: number, lon: number, heading?: number, at?: number, age?: number }?, fleet.Err?, string?
function vehicle:locate(options) end

---Sends an address to the navigation and looks whether a route appeared.
---@param address string
---@param options? { timeout?: number }
---@return { destination: string, minutes?: number, miles?: number }?, fleet.Err?, string?
function vehicle:navigate(address, options) end

---Waits until a field of the car has a value; a live look only at a car that its record shows awake.
---@param options { what: string, is: any, timeout?: number, every?: number }
---@return any, fleet.Err?, string?
function vehicle:wait_until(options) end

---Names the task in reports and returns it; without an argument, returns its name.
---@param name? string
---@return fleet.task|string?
function task:name(name) end

---pcall for functions that wait, inside of tasks, on Lua 5.1, where nothing yields across pcall; elsewhere pcall itself.
---@param fn function
---@param ... any
---@return boolean ok
---@return any ...
function fleet.pcall(fn, ...) end

fleet.loop = {}

---The one descriptor that a host watches for reading; the same for the life of the loop. pollfd and getfd are other names of it.
---@return integer
function fleet.loop.fd() end

---What to watch the descriptor for.
---@return "r"|"w"|"rw"
function fleet.loop.events() end

---Seconds until step has something to do, or nil; a hint, since the descriptor has a timer of its own.
---@return number?
function fleet.loop.timeout() end

---Whether step has work now.
---@return boolean
function fleet.loop.dirty() end

---Does what is due, and never waits.
function fleet.loop.step() end

---Waits until the descriptor is ready or the seconds have passed. A host replaces this function.
---@param seconds number
function fleet.loop.wait(seconds) end

---Calls fn in step when the descriptor is ready.
---@param fd integer
---@param mode "r"|"w"|"rw"
---@param fn fun(events: string)
---@return { close: fun(self: any) }
function fleet.loop.watch(fd, mode, fn) end

---Monotonic and wall seconds; may be replaced. Every decision, sleep, token and store age reads it.
---@return number monotonic
---@return number wall
function fleet.loop.clock() end

fleet.store = {}

---@class fleet.store
local store = {}

---@param key string
---@return string? value
---@return integer|fleet.err generation
function store:get(key) end

---@param key string
---@param value string
---@param options? { generation?: integer, durable?: boolean, ttl?: number, ticket?: any, lease?: any }
---@return integer? generation
---@return fleet.err err
---@return fleet.kind kind
function store:put(key, value, options) end

---@param key string
---@param generation? integer
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function store:delete(key, generation) end

---Proves that a write of so many bytes can be done, before a token is exchanged.
---@param key string
---@param bytes integer
---@return any ticket
---@return fleet.err err
---@return fleet.kind kind
function store:reserve(key, bytes) end

---A lease with fence, renew() and release(); it never waits.
---@param key string
---@param ttl number seconds
---@return any lease
---@return fleet.err err
---@return fleet.kind kind
function store:lease(key, ttl) end

---Adds whole numbers to fields at once, and returns their totals.
---@param key string
---@param amounts { [string]: integer }
---@param options? { ttl?: number }
---@return { [string]: integer }? totals
---@return fleet.err err
---@return fleet.kind kind
function store:add(key, amounts, options) end

function store:close() end

---A store in this process's memory.
---@param options? table
---@return fleet.store
function fleet.store.memory(options) end

---A store in files of a directory: 0700, files 0600, tokens synced to the disk.
---@param directory string
---@param options? { warn?: fun(text: string), clock?: function, sleep?: function }
---@return fleet.store? store
---@return fleet.err err
---@return fleet.kind kind
function fleet.store.file(directory, options) end

---A store on a Redis server that machines share; see the page Many machines.
---@param options table
---@return fleet.store? store
---@return fleet.err err
---@return fleet.kind kind
function fleet.store.redis(options) end

---A store by text: "memory", "file:/path", a path, or the address of a Redis.
---@param text string
---@param options? table
---@return fleet.store? store
---@return fleet.err err
---@return fleet.kind kind
function fleet.store.open(text, options) end

fleet.tariff = {}

---What check finds: each entry has a kind and says where; tostring(entry) is a sentence.
---@class fleet.tariff_report
---@field valid boolean
---@field problems table[]
---@field normalisations table[] what the service will change
---@field warnings table[]

---@class fleet.tariff_price
---@field price number per kWh
---@field season string
---@field label string

---@class fleet.tariff
local tariff = {}

---Looks at a tariff as the service will, completely. Sends nothing.
---@param content table
---@param options? { any_currency?: boolean, stored?: boolean } as in new
---@return fleet.tariff_report
function fleet.tariff.check(content, options) end

---stored = true: content was read from a site. Any currency is taken, unknown members are kept.
---@param content table as time_of_use_settings takes it, or a reply or site_info that holds it
---@param options? { time_zone?: string, any_currency?: boolean, stored?: boolean }
---@return fleet.tariff? tariff
---@return fleet.err err with problems, normalisations and warnings
---@return fleet.kind kind
function fleet.tariff.new(content, options) end

---A tariff of one price.
---@param options table price, currency, name; any_currency, sell, utility, code, daily, time_zone
---@return fleet.tariff? tariff
---@return fleet.err err
---@return fleet.kind kind
function fleet.tariff.flat(options) end

---A tariff from rows of times and prices, or from spot prices; the page Tariffs lists the forms. Wrong prices of a feed, such as a
---missing hour, are nil, err, "invalid".
---@param options table
---@return fleet.tariff? tariff
---@return table|fleet.err groups how prices were grouped
---@return fleet.kind kind
function fleet.tariff.from_rows(options) end

---The tariff_content_v2 in a reply, a site_info or the body of a setting, and whether it was read from a site.
---@param value table
---@return table content
---@return boolean stored
function fleet.tariff.content_of(value) end

---Whether the content that a site holds is this tariff, as it was sent or as the service changes it.
---@param content table?
---@param wanted fleet.tariff|table
---@return boolean
function fleet.tariff.stored_as(content, wanted) end

---A report of check as lines of text.
---@param report fleet.tariff_report
---@return string
function fleet.tariff.explain(report) end

---Whether a value is a tariff object.
---@param value any
---@return boolean
function fleet.tariff.is(value) end

---@param when number|table UTC seconds, or a local time { year, month, day, hour, min }
---@return { buy: fleet.tariff_price, sell: fleet.tariff_price? }
function tariff:price(when) end

---The stretches of one price, in order and without gaps.
---@param from number|table
---@param to number|table
---@return { from: any, to: any, buy: fleet.tariff_price, sell: fleet.tariff_price? }[]
function tariff:segments(from, to) end

---The cheapest hours between two moments, with .hours and .mean.
---@param options { hours: number, from: any, to: any, contiguous?: boolean }
---@return table
function tariff:cheapest(options) end

---The tariff as the service will keep it.
---@return fleet.tariff
function tariff:normalised() end

---The JSON that is sent, every member written out.
---@return string
function tariff:encode() end

---What differs in meaning, as { path, from, to }.
---@param other fleet.tariff|table
---@return table[]
function tariff:diff(other) end

---@return fleet.tariff_report
function tariff:report() end

---@return string?
function tariff:time_zone() end

---The week of every season for a terminal.
---@param options? { color?: boolean, ascii?: boolean }
---@return string
function tariff:text(options) end

---The week of every season as a picture.
---@param options? { width?: integer, title?: string }
---@return string svg
function tariff:svg(options) end

fleet.chart = {}

---The energy flow of a history as text.
---@param history table what energy_history returned
---@param options? { ascii?: boolean }
---@return string?
---@return fleet.err err
---@return fleet.kind kind
function fleet.chart.text(history, options) end

---The energy flow of a history as a picture: sources above the line, uses below it, in kWh per step.
---@param history table what energy_history returned
---@param options? { width?: integer, title?: string }
---@return string? svg
---@return fleet.err err
---@return fleet.kind kind
function fleet.chart.svg(history, options) end

fleet.metrics = {}

---A registry that counts what clients do: the option `metrics` of fleet.new.
---@return fleet.metrics.registry
function fleet.metrics.prometheus() end

---A registry of rows { name, kind, doc, labels, buckets }.
---@param rows table[]
---@return fleet.metrics.registry
function fleet.metrics.new(rows) end

---@class fleet.metrics.registry
local registry = {}

---Its numbers as Prometheus text.
---@return string
function registry:text() end

fleet.automation = {}

---What fleet.automation.<name> { ... } returns; each has a page of the manual.
---@class fleet.automation
local automation = {}

---Runs until it is stopped; inside a task.
function automation:run() end

---@class fleet.automation.action
---@field call string the name of a row
---@field params? table
---@field why? string

---@class fleet.automation.decision
---@field actions fleet.automation.action[]
---@field why? string nil where it only looks
---@field again_at number UTC seconds
---@field claims? table
---@field notices? { key: string, severity: string, text: string }[]
---@field problem? string what could not be decided
---@field state table for the next step

---One decision: state in, actions out; changes nothing, calls no service and never raises.
---@param now number UTC seconds
---@param state? table as a decision returned it; nil knows nothing yet
---@return fleet.automation.decision
function automation:step(now, state) end

---Why it did or did not act.
---@return string
function automation:explain() end

---What it has cost.
---@return { calls: table, usd: number, text: string }
function automation:cost() end

---@class fleet.automation.status
---@field name string
---@field kind string
---@field subject string
---@field running boolean
---@field why? string the last decision, also of before a restart
---@field why_at? number UTC seconds
---@field next_look? number UTC seconds
---@field cost { calls: table<string, integer>, usd: number, text: string }
---@field commands_today integer
---@field daily_cap integer
---@field trouble? { message: string, ends: number }
---@field plan? table

---What it thinks, as data; calls no service.
---@return fleet.automation.status? status nil where the store fails
---@return fleet.err err
---@return fleet.kind kind
function automation:status() end

---The names of the automations that there are.
---@return string[]
function fleet.automation.names() end

---Whether a value is an automation.
---@param value any
---@return boolean
function fleet.automation.is(value) end

---Makes the schedules of a car as wanted: the difference is sent and read back.
---@param car fleet.vehicle
---@param list table[]
---@param options? table
---@return table? result
---@return fleet.err err
---@return fleet.kind kind
function fleet.automation.sync_schedules(car, list, options) end

---What a rehearsal found.
---@class fleet.automation.report
---@field zone string
---@field from number UTC seconds
---@field to number
---@field kwh number charged
---@field sun_kwh number of it, from the roof
---@field grid_kwh number of it, from the grid
---@field price? number paid for that; nil without prices
---@field calls table<string, integer> by price class
---@field usd number what the calls cost
---@field refused integer commands that the car refused
---@field commands { at: number, name: string, params?: table }[]
---@field ready { at: number, level: number }[] the level at the times by which the car was to be charged
---@field notes table[] what the automations reported
---@field looks table[] reads of the car
---@field samples table[] what the picture draws
local report = {}

---How many of the noted days had at least this level; and of how many.
---@param level number
---@return integer good
---@return integer days
function report:ready_days(level) end

---How many commands of a name were sent, or of any.
---@param name? string
---@return integer
function report:sent(name) end

---The month in a few lines.
---@return string
function report:text() end

---The month as an SVG picture.
---@param options? { title?: string, width?: integer }
---@return string svg
function report:svg(options) end

---Writes the picture to a file.
---@param path string
---@param options? { title?: string, width?: integer }
function report:save(path, options) end

---Plays a month in a minute, in the simulator.
---@param options table
---@return fleet.automation.report report
function fleet.automation.rehearse(options) end

---What require("fleet.sim").new { ... } returns: a simulated service on this machine.
---@class fleet.simulator
---@field base_url string
---@field auth_url string
---@field token_url string
---@field control_url string
---@field control_token string
local sim = {}

---A client of this simulator: signed in, its key paired with every vehicle that its account may use.
---@param options? table those of fleet.new; account: the email of an account of the garage, default the first; key = false: none
---@return fleet.client? client
---@return fleet.err err
---@return fleet.kind kind
function sim:client(options) end

---Lets simulated time pass at once.
---@param seconds number
function sim:advance(seconds) end

---A named fault for the next calls; raises for a name that does not exist.
---@param name string
---@param times? integer default 1
---@param options? table row, vin, message, and what the fault takes
function sim:fault(name, times, options) end

---Something that no call does, such as "unplug" or "drive"; raises where it cannot happen.
---@param name string
---@param vin? string a VIN, its end, or a name; default the only vehicle
---@param options? table
function sim:event(name, vin, options) end

---Changes a vehicle: { charge_state = { battery_level = 20 }, state = "asleep" }.
---@param vin string a VIN, its end, or a name
---@param changes table
function sim:set(vin, changes) end

---Everything that the simulator knows.
---@return table
function sim:state() end

---The addresses and the control token as one line of JSON.
---@return string
function sim:first_line() end

---Stops listening; may be called twice.
function sim:close() end

---"vehicle_security" (locks, trunks, keys) or "infotainment" (everything else).
---@alias fleet.domain "vehicle_security"|"infotainment"

fleet.key = {}

---A new private key of the curve P-256.
---@return fleet.key
function fleet.key.generate() end

---A key from a file or from PEM text. A file that others can read is refused.
---@param path_or_pem string
---@param passphrase? string
---@param options? { insecure_key_mode?: boolean }
---@return fleet.key? key
---@return fleet.err err
---@return fleet.kind kind
function fleet.key.load(path_or_pem, passphrase, options) end

---The 65 bytes of a public key as it is hosted.
---@param pem string
---@return string? bytes
---@return fleet.err err
---@return fleet.kind kind
function fleet.key.public_bytes(pem) end

---A private key. It never shows its secret number.
---@class fleet.key
local key = {}

---Saves with mode 0600 and never over a file; encrypted when a passphrase is given.
---@param path string
---@param passphrase? string
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function key:save(path, passphrase) end

---@return string pem the public half, for hosting
function key:public_pem() end

---@return string bytes the public half as the wire has it: 65 bytes
function key:public_bytes() end

---@return string hex SHA-256 of the public half
function key:fingerprint() end

---A signed token over claims, as vehicles want it for telemetry configurations.
---@param claims table
---@param options? { vin?: string, app?: string }
---@return string? token
---@return fleet.err err
---@return fleet.kind kind
function key:jws(claims, options) end

---Forgets the key; sessions made from it go on.
function key:close() end

---The claims of a token whose signature is right.
---@param token string
---@param public_bytes string
---@return table? claims
---@return fleet.err err
---@return fleet.kind kind
function fleet.jws_verify(token, public_bytes) end

---@class fleet.session_options
---@field key fleet.key
---@field vin string
---@field domain fleet.domain
---@field state? string what export() gave; dropped in silence when it does not fit
---@field random? fun(count: integer): string in place of the system's random bytes
---@field clock? fun(): number, number? in place of the system's: seconds, and the wall clock if that is another one

---The client's side of one domain of one vehicle: bytes in, bytes out.
---@param options fleet.session_options
---@return fleet.session
function fleet.session(options) end

---@class fleet.session
local session = {}

---@return string? bytes to send; give the answer to accept()
---@return fleet.err err
---@return fleet.kind kind
function session:handshake() end

---Takes the vehicle's answer to a handshake; believed only when its tag is right.
---@param bytes string
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function session:accept(bytes) end

---@class fleet.sign_options
---@field method? "hmac"|"gcm"
---@field expires_in? number
---@field encrypt_response? boolean
---@field flags? integer
---@field again? string id of a message that the vehicle proved not to have taken: its counter is used once more
---@field unpublished? boolean for command(): also the forms that are not published

---A signed message with a counter of its own, or with that of the message whose id is given as `again`.
---@param payload string
---@param options? fleet.sign_options
---@return string? bytes
---@return string|fleet.err id what open() says the answer belongs to
---@return fleet.kind kind
function session:sign(payload, options) end

---A command as base64 text, for routable_message: fleet.command, sign and fleet.base64 in one. Raises like fleet.command.
---@param name string
---@param params? table
---@param options? fleet.sign_options
---@return string? text
---@return string|fleet.err id what open() says the answer belongs to
---@return fleet.kind kind
function session:command(name, params, options) end

---The answer to a signed message. err.outcome says what became of the command; "refused" after a fault that asks for another
---counter, epoch or time means that the vehicle proved not to have taken it: sign once more.
---@param bytes string
---@return string? payload
---@return string|fleet.err id
---@return boolean|fleet.kind authenticated the answer was encrypted
---@return "wait"|"error"|nil status where the envelope's is not OK
function session:open(bytes) end

---The state for a later process: no secret, authenticated with the private key.
---@param ahead? integer counters that it leaves out
---@return string? state
---@return fleet.err err
---@return fleet.kind kind
function session:export(ahead) end

---@return boolean can_sign
function session:ready() end

---@return integer counter of the last message
function session:counter() end

---@return number seconds since the vehicle last confirmed the session, authenticated
function session:age() end

---@return boolean seen whether another process was seen to draw counters with the key
function session:shared() end

---Passes over so many counters.
---@param count integer
function session:skip(count) end

function session:close() end

---@class fleet.receiver_options
---@field key fleet.key the vehicle's
---@field vin string
---@field domain fleet.domain
---@field keys (string|{ public_key: string, role?: string })[] who may command; the role is OWNER where none is given
---@field random? fun(count: integer): string
---@field clock? fun(): number

---The vehicle's side: checks, replay window, roles, answers.
---@param options fleet.receiver_options
---@return fleet.receiver
function fleet.receiver(options) end

---@class fleet.receiver
local receiver = {}

---Checks a message and answers it, also where it is garbage. respond gives the application's answer and must not yield.
---@param message string
---@param respond? fun(payload: string): string?, integer?
---@return string? reply
---@return string? payload of an accepted command
---@return string? fault name of the fault in the reply
function receiver:handle(message, respond) end

---@param keys (string|{ public_key: string, role?: string })[]
function receiver:enroll(keys) end

---A new epoch, with clock and counters at 0.
function receiver:restart() end

function receiver:close() end

---@class fleet.telemetry.options
---@field host? string the address to listen on; "::" for IPv6 as well
---@field port integer the port that the configuration of the cars names; 0: any free port, see `receiver.port`
---@field reuse_port? boolean several processes listen at the same port, and the kernel shares the connections out
---@field certificate string the receiver's certificate chain, leaf first: PEM text or "@file"
---@field certificate_key string its key: PEM text, or "@file" that only its owner may read
---@field client_ca string the authorities that sign vehicles' certificates: PEM text or "@file"
---@field vehicles? string[]|fun(vin: string): boolean the VINs that may connect: a list, or a function(vin) that returns true; it may wait
---@field proxy_protocol? false|string[] load balancers that send the PROXY protocol: a list of addresses and networks
---@field ack? "at_once"|"when_stored" when a message is acknowledged: on arrival, or when every output and `on_record` have stored it
---@field on_record? fun(record: fleet.telemetry.record): boolean? called with each record; it may wait
---@field outputs? fleet.telemetry.output[] where records are passed on: a list of outputs, see Outputs; they close with the receiver
---@field on_connection? fun(event: fleet.telemetry.event) called with each event of a connection; it may wait
---@field on_notice? fun(text: string) called with a sentence about certificates, limits and failures; by default it is printed on standard error
---@field store? fleet.store a store that keeps the newest values for the next process
---@field limits? fleet.telemetry.limits see Limits
---@field loop? table `fleet.loop`

---@class fleet.telemetry.limits
---@field message? integer bytes of a message; a longer one is rejected, and the connection continues
---@field per_minute? integer messages of a vehicle in a minute; further ones are read later
---@field connections? integer connections at the same time; more wait in the system's queue
---@field vehicle_connections? integer connections of one vehicle; one more closes the oldest
---@field unacknowledged? integer messages of a connection that wait for their acknowledgement; at the limit the receiver stops reading from it

---A message of a vehicle.
---@class fleet.telemetry.record
---@field vin string from the vehicle's certificate
---@field topic "V"|"alerts"|"errors"
---@field txid string
---@field at number UTC seconds, as the vehicle says it
---@field arrived number UTC seconds
---@field resend? boolean the vehicle sends again what was not acknowledged
---@field values? { [string]: any } of topic V, by the field's name
---@field invalid? string[] fields that the vehicle cannot report now
---@field texts? { [string]: string } texts that are no value of their field
---@field alerts? { name: string, audiences: string[], started_at?: number, ended_at?: number }[]
---@field errors? { name: string, body: string, at?: number, tags: { [string]: string } }[]
---@field signals integer how many are billed
---@field raw string the payload's bytes
---@field address string where the vehicle connected from
---@field connection integer

---@class fleet.telemetry.event
---@field type "connected"|"disconnected"|"refused"|"damaged"
---@field vin? string
---@field kind? string of device, by its certificate
---@field at number UTC seconds
---@field address string
---@field interface? string "wifi", "cellular"
---@field client_version? string
---@field connection integer
---@field reason? string of what was refused, damaged or has ended
---@field online boolean whether the vehicle counts as connected now

---What is known of a vehicle; stays up to date.
---@class fleet.telemetry.vehicle
---@field vin string
---@field online boolean
---@field since? number UTC seconds: connected, or not connected, since then
---@field interface? string
---@field client_version? string
---@field values { [string]: any } newest values by the field's name; what is not known is absent
---@field at { [string]: number } their times, UTC seconds
---@field signals integer received since the receiver was made
local vehicle = {}

---Seconds since the newest value of a field was sent; nil where it is not known.
---@param name string
---@return number?
function vehicle:age(name) end

---The newest values in the shape of vehicle_data, with `at` in the same shape; what is not known is absent.
---@param options? { age?: number, sections?: { [string]: boolean } }
---@return table
function vehicle:vehicle_data(options) end

---A receiver tied to the client: car:vehicle_data{ from = "stream" } reads from it. Without options: the receiver that is tied.
---Without `vehicles`, those of the account; require("fleet.telemetry").new needs them.
---@param options? fleet.telemetry.options
---@return fleet.telemetry? receiver
---@return fleet.err err
---@return fleet.kind kind
function client:telemetry(options) end

---@class fleet.telemetry.output
---@field store fun(self: any, record: fleet.telemetry.record): boolean?, fleet.err?, fleet.kind? may wait
---@field connection? fun(self: any, event: fleet.telemetry.event)
---@field refresh? fun(self: any, vehicle: fleet.telemetry.vehicle): boolean?, fleet.err?
---@field close? fun(self: any)

---@class fleet.telemetry
---@field port integer
local telemetry = {}

---A receiver that listens: require("fleet.telemetry").new{ … }.
---@param options fleet.telemetry.options
---@return fleet.telemetry? receiver
---@return fleet.err err
---@return fleet.kind kind
function telemetry.new(options) end

---What is known of a vehicle.
---@param vin string
---@return fleet.telemetry.vehicle
function telemetry:vehicle(vin) end

---Waits until a field is a value, or what a function says; without either until the vehicle sends it.
---@param vin string
---@param name string
---@param wanted? any
---@param options? { timeout?: number }
---@return any value
---@return number|fleet.err at
---@return fleet.kind kind
function telemetry:wait(vin, name, wanted, options) end

---An iterator over records for a task; a slow reader loses the oldest, which its member `lost` counts.
---@param vin? string
---@return fun(): fleet.telemetry.record?
function telemetry:records(vin) end

---@return { [string]: integer }
function telemetry:stats() end

---What is to be known of the authorities in client_ca, as sentences.
---@return string[]
function telemetry:remarks() end

---Reads the certificate files now.
---@return boolean? done
---@return fleet.err err
---@return fleet.kind kind
function telemetry:reload() end

---Ends the connections and returns at once; outputs still get what was acknowledged.
function telemetry:close() end

---Closes, and waits until the outputs have stored what was acknowledged.
---@param options? { timeout?: number }
---@return boolean? done
---@return fleet.err err how many were lost, or still wait
---@return fleet.kind kind
function telemetry:finish(options) end

return fleet
