-- fleet proxy: runs the signing proxy until a signal ends it.

local collector = require "fleet.cli.collector"
local core = require "fleet.core"
local failure = require "fleet.cli.failure"
local options = require "fleet.cli.options"
local proxy_options = require "fleet.cli.proxy"
local wait_and_tick = require("fleet.async.loop").wait_and_tick

local takes = {
  {
    name = "listen", type = "string", placeholder = "ADDRESS",
    doc = "unix:/path, 127.0.0.1:port, [::1]:port, another address with a certificate, such as 192.0.2.4:4443, or systemd for a socket "
      .. "unit; by default a socket in $XDG_RUNTIME_DIR",
  },
  {
    name = "secret_file", type = "string", placeholder = "FILE",
    doc = "the secret that callers on TCP send as bearer token; made with mode 0600 where there is none",
  },
  { name = "certificate", type = "string", placeholder = "FILE", doc = "serve TLS with this certificate chain, PEM" },
  { name = "certificate_key", type = "string", placeholder = "FILE", doc = "the certificate's key, PEM, readable by you alone" },
  { name = "client_ca", type = "string", placeholder = "FILE", doc = "callers may show a certificate of this authority" },
  { name = "host", type = "string", placeholder = "NAME", repeated = true, doc = "a further name by which callers on TCP reach it" },
  { name = "pass_through", type = "boolean", doc = "pass the caller's own service token on, and keep none of them" },
  { name = "accounts", type = "strings", placeholder = "NAMES", doc = "further accounts whose tokens are held, by commas" },
  { name = "callers", type = "string", placeholder = "FILE", doc = "who may call what, as JSON; see doc/manual/proxy.md" },
  { name = "per_minute", type = "number", doc = "calls that each caller has a minute" },
  { name = "max_connections", type = "integer", doc = "connections at a time, by default 512" },
  { name = "audit", type = "string", placeholder = "FILE", doc = "file for a line of JSON for each command; by default standard error" },
  { name = "drain", type = "number", doc = "seconds that commands in flight may take after SIGTERM, by default 60" },
}

-- Reloads the files. When one has an error, the error is reported and the proxy continues with what it loaded before.
local function read_again(context, proxy, given, kept)
  local stderr = context.environment.stderr
  local ok, done, err = pcall(function()
    kept.reopen()
    local made, problem, kind = proxy_options.options(context, given, kept)
    if not made then return nil, problem, kind end
    local ran, took, why = pcall(proxy.reload, proxy, made)
    if not ran or not took then proxy_options.close(made) end
    if not ran then error(took, 0) end
    return took, why
  end)
  if ok and done then return stderr:write("fleet: read configuration and keys again\n") end
  stderr:write("fleet: kept what runs\n")
  failure.report(context.environment, ok and err or done, { given = context.given })
end

-- Serves until SIGTERM or an interrupt, and then answers the requests in flight; a second signal ends it at once.
local function serve(context, proxy, given, kept)
  local loop, signals, state = require("fleet").loop, assert(core.signals()), {}
  local watch = loop.watch(signals:fd(), "r", function()
    local name = signals:take()
    if not name then return end
    if name == "hangup" then
      state.again = true
    elseif state.ended then
      state.now = true
    else
      state.ended = true
    end
  end)
  while not state.ended do
    wait_and_tick()
    if state.again then
      state.again = false
      read_again(context, proxy, given, kept)
    end
  end
  local fleet = require "fleet"
  local task = fleet.spawn(function()
    proxy:drain(given.drain)
    state.now = true
  end)
  while not state.now do wait_and_tick() end
  task:cancel()
  watch:close()
  signals:close()
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  collector.collect_in_steps()
  local kept = { metrics = require("fleet").metrics.prometheus() }
  kept.audit, kept.reopen = proxy_options.audit(context.environment, given.audit)
  local made, err, kind = proxy_options.options(context, given, kept)
  if not made then return nil, err, kind end
  local proxy
  proxy, err, kind = context:check(require("fleet.proxy").new, made)
  if not proxy then return nil, err, kind end
  context.out:write(proxy:first_line(), "\n")
  context.out:flush()
  local ok, why = pcall(serve, context, proxy, given, kept)
  local clients = proxy:clients()
  proxy:close()
  clients:close()
  if not ok then error(why, 0) end
end

return {
  {
    name = "proxy", words = {}, takes = takes, run = run,
    doc = "Signs commands for programs that cannot, and sends them with its own tokens. The first line has its address as JSON; SIGTERM "
      .. "ends it, SIGHUP reads configuration and keys again. See doc/manual/proxy.md.",
  },
}
