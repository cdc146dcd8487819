rockspec_format = "3.0"
package = "fleet"
version = "1.0.0-1"
source = { url = "file://build/dist/fleet-1.0.0.tar.gz", dir = "fleet-1.0.0" } -- make rock puts the address of a release here
description = {
  summary = "Client for Tesla's Fleet API: cars, home batteries, accounts; signs commands in process; with a simulator",
  detailed = [[
    OAuth, vehicles, signed vehicle commands, energy sites, tariffs and automations for Lua 5.1 to 5.5, with a C core. It
    blocks, runs in its own tasks or in a host's event loop, and ships a simulator of the whole service.
  ]],
  license = "MIT",
  labels = { "client", "energy", "vehicle", "oauth", "async" },
}
dependencies = { "lua >= 5.1, < 5.6" }
external_dependencies = {
  CURL = { library = "curl" }, -- the header may stand in a multiarch directory; pkg-config finds it
  CRYPTO = { header = "openssl/crypto.h", library = "crypto" },
  PROTOBUFC = { header = "protobuf-c/protobuf-c.h", library = "protobuf-c" },
}
build = {
  type = "make",
  build_target = "build",
  build_variables = { CFLAGS = "$(CFLAGS)", LUADIR = "$(LUADIR)" },
  install_variables = { LUADIR = "$(LUADIR)", LIBDIR = "$(LIBDIR)", BINDIR = "$(BINDIR)", DATADIR = "" },
}
test = { type = "command", command = "make test" }
