-- The part of lua/fleet/types.lua about everything except the calls: tasks, the loop, stores, tariffs, charts, automations and
-- metrics. They have no rows, so they are written here as text; spec/contract/api_spec.lua holds the names against the module.
return [[
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
function sim:close() end]]
