-- What stands behind each kind of error, and what to do: shown by `fleet explain` and on the manual's page. What the rows
-- say (reasons, faults) is not repeated here.

return {
  network = {
    { "the machine has no network, or a name is not found", "try `fleet doctor`: it tells name, address and certificate apart" },
    { "a proxy is needed", "`proxy =` or `--proxy`" },
    {
      "the connection broke while a command was under way",
      "`err.outcome` is `unknown` then: `car:settle(err)` looks where the row can",
    },
  },
  tls = {
    { "the machine does not know the authorities", "install the package ca-certificates, or name a file with `ca_file =`" },
    { "the clock is wrong", "`fleet doctor` compares it with the service's" },
    {
      "something on the way reads along (a company's proxy)",
      "name its authority with `ca_file =`; there is no switch to go on without checking",
    },
  },
  timeout = {
    { "the vehicle has a bad connection", "repeat a read; for a command look first: `car:settle(err)`" },
    { "`timeout =` is too short for waking and a command", "waking takes 10 to 60 seconds: give 90" },
  },
  auth = {
    { "nobody signed in for this account and store", "`fleet login`; compare `account =` and `store =` with those of the sign-in" },
    { "`login_required`: the password was changed, or access was taken back", "sign in again; nothing else helps" },
    { "the pair was not refreshed for three months", "sign in again, and run `fleet keep_alive` from a monthly timer" },
    { "the refresh token was used elsewhere (a copied store, another program)", "sign in again, and share one store instead of copies" },
  },
  forbidden = {
    { "the account drives the car but does not own it", "some calls are the owner's: the help of the verb names the roles" },
    { "Mobile access is switched off in the car", "switch it on in the car: Controls, Safety, Allow Mobile Access" },
    { "the role of the key does not allow it", "pair with a key of another role, or send it as the owner" },
  },
  scope = {
    { "the consent did not contain the scope", "`fleet login --scopes …`, or `client:add_scopes_url`; `err.scope` names it" },
    { "the application itself does not have it", "add it on Tesla's developer site, then let owners consent again" },
  },
  not_found = {
    { "the VIN or the site belongs to another account", "`fleet vehicles`, `fleet products` list what this account has" },
    { "the record is gone", "list again" },
  },
  rate_limited = {
    {
      "too many calls in a minute or a day",
      "wait `err.retry_after` seconds; poll `client:products()`, which is free and has the state of every car",
    },
    { "several programs share the account", "give them one store: they share the pace then" },
  },
  asleep = {
    { "the car sleeps", "`wake = true` or `--wake`; it is priced and keeps the car awake for some minutes" },
    { "polling `vehicle_data` to find out whether it is awake", "ask `car:info()`: its `state` says so" },
  },
  offline = {
    { "the car is in a garage, or its connection is asleep as well", "try later; no call can wake it" },
  },
  region = {
    { "the account lives in another region than `region =`", "`fleet region` asks and remembers; `err.message` names the address" },
    { "`base_url =` is your own and the service names another host", "list it in `hosts =`" },
  },
  unregistered = {
    { "the application was not registered in this region", "`client.partner:register { domain = }`, or `fleet setup`; once per region" },
    { "the key at the domain's well-known address was moved", "host it again: `fleet doctor` fetches it and compares" },
  },
  limit_exceeded = {
    {
      "the month's bill has reached its limit",
      "raise it on Tesla's developer site, or wait for the next month; `fleet cost` shows what was spent",
    },
    { "the car holds as many keys or telemetry configurations as it can", "remove one" },
  },
  unsupported = {
    { "a call that this kind of token cannot make", "the help of the verb names the token; `auth =` chooses" },
    { "a command that must be signed, and no key is set", "`key =`, and `fleet pair VIN`" },
    { "firmware that does not know the command", "the reference names the firmware" },
  },
  key_not_paired = {
    {
      "the owner has not added the key",
      "`fleet pair VIN` prints the address; the owner opens it on the phone that has the Tesla app",
    },
    { "another key file than the one that was paired", "compare the fingerprint: `fleet doctor VIN`" },
    { "the key was removed in the car", "pair again" },
  },
  refused = {
    { "the car or the site said no", "`err.reason` says why; `fleet explain` takes it, too" },
    { "the state changed meanwhile", "read it, then decide" },
  },
  busy = {
    {
      "a part of the car is still waking, or carries out another command",
      "try again in some seconds; commands that set a state are repeated for you",
    },
  },
  protocol = {
    {
      "a reply that is cut, too large, of another kind than promised, or not signed by the car",
      "repeat a read; for a command look first",
    },
    { "a proxy or a portal in between answers", "`fleet --verbose …` shows status and address" },
    { "`max_response =` is too small", "raise it" },
  },
  service = {
    { "the service is disturbed", "try later; a command's outcome is `unknown`, so look before you repeat it" },
  },
  store = {
    {
      "the directory cannot be written, or the disk is full",
      "mend it soon: a fresh pair of tokens stays in memory until it can be kept",
    },
    { "`store_key` is not the one that sealed the record", "bring the right key; nothing was overwritten" },
    { "Redis cannot be reached", "`fleet doctor` looks at address, password and durability" },
  },
  conflict = {
    { "another process wrote the record first", "read again and decide again" },
  },
  budget = {
    {
      "a budget of yours is used up",
      "`fleet cost` shows what was spent, `err.retry_after` when it begins anew; `force = true` goes on and is counted",
    },
  },
  cancelled = {
    { "the task was cancelled", "a command that was on its way may have been done: `err.outcome`" },
  },
  closed = {
    { "the client was closed before the call, or meanwhile", "make a new client; what was on the wire has ended with its true result" },
  },
  invalid = {
    { "a value that the service does not take", "`err.message` holds what it said; the reference names ranges and units" },
    { "422 at signed_command: the car does not speak the protocol", "`commands = \"auto\"` sends such a car plain commands" },
  },
}
