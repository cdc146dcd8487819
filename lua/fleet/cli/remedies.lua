-- Causes and cures of each kind of error, shown by `fleet explain` and on the manual's page. Reasons and faults have theirs in their own
-- rows. Each entry is { cause, cure, shell = the cure as a command line, when the other one is for programs }; shell = false marks an entry
-- for programs only.

return {
  network = {
    { "this machine has no network, or cannot resolve a name", "run `fleet doctor`: it checks name, address and certificate" },
    {
      "the network needs a proxy", "set `proxy =`, or pass `--proxy`",
      shell = "pass `--proxy URL`, or put `proxy` into the configuration file",
    },
    {
      "the connection broke during a command", "`err.outcome` is `unknown`: `car:settle(err)` reads whether it was executed",
      shell = "read the car before you repeat it: `fleet vehicle_data VIN`",
    },
  },
  tls = {
    {
      "this machine does not know the certificate authorities", "install the package ca-certificates, or set `ca_file =`",
      shell = "install the package ca-certificates, or pass `--ca-file FILE`",
    },
    { "this machine's clock is wrong", "run `fleet doctor`: it compares the clock with Tesla's server" },
    {
      "a company's proxy decrypts the traffic",
      "name its authority with `ca_file =`. Certificates are always checked: there is no option to skip it",
      shell = "name its authority with `--ca-file FILE`. Certificates are always checked: there is no option to skip it",
    },
  },
  timeout = {
    {
      "the car has a bad connection", "repeat a read. After a command read the car first: `car:settle(err)`",
      shell = "repeat a read. After a command read the car first: `fleet vehicle_data VIN`",
    },
    {
      "the timeout is too short to wake the car and send a command", "waking takes 10 to 60 seconds: use 90",
      shell = "waking takes 10 to 60 seconds: pass `--timeout 90`",
    },
  },
  auth = {
    {
      "this account and store have no sign-in", "run `fleet login`; check that `account =` and `store =` are those of the sign-in",
      shell = "run `fleet login`; check that `--account` and `--store` are those of the sign-in",
    },
    { "`login_required`: the password was changed, or the person withdrew consent", "sign in again" },
    { "the token was not refreshed for three months", "sign in again, and run `fleet keep_alive` from a monthly timer" },
    {
      "the refresh token was used by another program, or from a copied store",
      "sign in again, and let all programs use one store instead of copies",
    },
  },
  forbidden = {
    { "the account may drive the car but does not own it", "sign in as the owner: the help of the verb names the roles" },
    { "mobile access is switched off in the car", "switch it on in the car: Controls, Safety, Allow Mobile Access" },
    { "the key's role does not allow this", "pair a key of another role, or send the command as the owner" },
  },
  scope = {
    {
      "the person did not grant the scope", "`fleet login --scopes …`, or `client:add_scopes_url`; `err.scope` names the scope",
      shell = "sign in with it: `fleet login --scopes …`; the message names the scope",
    },
    { "the application does not have the scope", "add it on Tesla's developer site, then let owners consent again" },
  },
  not_found = {
    { "the VIN or the site belongs to another account", "`fleet vehicles` and `fleet products` list what this account has" },
    { "the record was deleted", "read the list again" },
  },
  rate_limited = {
    {
      "too many calls in a minute or a day",
      "wait `err.retry_after` seconds. Poll `client:products()`: it is free and has the state of every car",
      shell = "wait as long as the message says. `fleet products` is free and has the state of every car",
    },
    { "several programs share the account", "give them one store: they then share the rate limit" },
  },
  asleep = {
    {
      "the car sleeps", "`wake = true` or `--wake`: costs 0.02 USD and keeps the car awake for some minutes",
      shell = "pass `--wake`: it costs 0.02 USD and keeps the car awake for some minutes",
    },
    {
      "your program polls `vehicle_data` to find out whether the car is awake", "use `car:info()`: its `state` says it",
      shell = "use `fleet products`: it is free and shows the state",
    },
  },
  offline = {
    { "the car is in a garage without network, or its modem sleeps", "try later; no call can wake it" },
  },
  region = {
    {
      "the account lives in another region than the configured one", "run `fleet region`; `err.message` names the address",
      shell = "run `fleet region`; the message names the address",
    },
    {
      "`base_url` is your own, and Tesla's answer names another host", "add that host to `hosts =`",
      shell = "add that host to `hosts` in the configuration file",
    },
  },
  unregistered = {
    {
      "the application is not registered in this region",
      "run `fleet setup`, or call `client.partner:register { domain = }`, once per region",
      shell = "run `fleet setup`, once per region",
    },
    {
      "the public key is no longer at the domain's well-known address",
      "host it again; `fleet doctor` fetches it and compares",
    },
  },
  limit_exceeded = {
    {
      "the month's bill reached its limit",
      "raise the limit on Tesla's developer site, or wait for the next month; `fleet cost` shows what was spent",
    },
    { "the car has no room for another key or telemetry configuration", "remove one" },
  },
  unsupported = {
    {
      "this kind of token cannot make the call", "the help of the verb names the token; choose it with `auth =`",
      shell = "`fleet help VERB` names the token; choose it with `--auth`",
    },
    {
      "the command must be signed, and the client has no key", "set `key =`, and run `fleet pair VIN`",
      shell = "run `fleet setup`, which makes a key, then `fleet pair VIN`",
    },
    { "the car's firmware does not know the command", "the reference names the firmware: update the car" },
  },
  key_not_paired = {
    {
      "the owner has not added the key",
      "`fleet pair VIN` prints an address; the owner opens it on the phone that has the Tesla app",
    },
    { "the client uses another key file than the one that was paired", "run `fleet doctor VIN`: it compares the keys" },
    { "the key was removed in the car", "pair again" },
  },
  refused = {
    {
      "the car or the site refused", "`err.reason` says why; `fleet explain REASON` explains it",
      shell = "the message says why; `fleet explain REASON` explains it",
    },
    { "the state changed in the meantime", "read it, then decide" },
  },
  busy = {
    {
      "a part of the car is still waking, or executes another command",
      "try again in some seconds; the client repeats commands that set a value by itself",
    },
  },
  protocol = {
    {
      "the reply is incomplete, too large, of the wrong type, or not signed by the car",
      "repeat a read. After a command read the car first",
    },
    { "a web proxy or a hotel's login page answers instead of Tesla", "`fleet --verbose …` shows status and address" },
    {
      "`max_response` is too small", "raise it",
      shell = "pass a larger `--max-response`",
    },
  },
  service = {
    {
      "Tesla's service has a disturbance",
      "try later. A command's outcome is `unknown`: read the car before you repeat it",
    },
  },
  store = {
    {
      "the directory cannot be written, or the disk is full",
      "make room soon: a new token stays in memory until it can be stored",
    },
    { "`store_key` is not the key that encrypted the record", "use the right key; nothing was overwritten" },
    { "Redis cannot be reached", "run `fleet doctor`: it checks address, password and durability" },
  },
  conflict = {
    { "another process wrote the record first", "read it again, then decide" },
  },
  budget = {
    {
      "one of your budgets is used up",
      "`fleet cost` shows what was spent, `err.retry_after` when the budget starts again. `force = true` sends the call anyway",
      shell = "`fleet cost` shows what was spent, the message when the budget starts again. `--force` sends the call anyway",
    },
  },
  cancelled = {
    {
      "your program cancelled the task", "a command in flight may have been executed: see `err.outcome`",
      shell = false,
    },
  },
  closed = {
    {
      "your program closed the client", "make a new client. Requests that were already sent return their result",
      shell = false,
    },
  },
  invalid = {
    {
      "Tesla does not accept a value", "`err.message` has Tesla's text; the reference names ranges and units",
      shell = "the message has Tesla's text; `fleet help VERB` names ranges and units",
    },
    {
      "several cars or sites fit what you wrote, or you named none and the account has several",
      "use the VIN or the id: `client:vehicles()` and `client:products()` list them",
      shell = "write the name, or more of the VIN, after the verb: `fleet vehicles` lists the cars, `fleet products` the sites",
    },
    {
      "422 at signed_command: the car does not speak the signing protocol",
      "`commands = \"auto\"` sends such a car plain commands", shell = "`--commands auto` sends such a car plain commands",
    },
  },
}
