local call, values, replies = "spec/call/sequence_spec.lua", "spec/call/values_spec.lua", "spec/call/replies_spec.lua"
local pages, lists = "spec/call/pages_spec.lua", "spec/call/lists_spec.lua"

return {
  { "src/bind/call/value.c", "if (!both) {", "if (false) {", { values, replies } },
  { "src/bind/call/value.c", "if (!null && !is_element(d, kinds, value, known)) return false;", "", { values, replies } },
  { "src/bind/call/result.c", "if (request_is_write(request) && says_no(L)) return judge_reason(e, request, \"\");",
    "", { values, replies } },
  { "src/bind/call/result.c", "known->kind == KIND_none && !request->strict",
    "known->kind == KIND_none", { call, values, "spec/resources/methods_spec.lua" } },
  { "src/bind/call/result.c", "if (!changed && !judge_reason(e, request, reason)) return false;", "", { call } },
  { "src/bind/call/result.c", ": r->status <= LAST_KNOWN_SUCCESS ? OUTCOME_REFUSED",
    ": true ? OUTCOME_REFUSED", { call, values, replies } },
  { "src/bind/call/pages.c", "at += size + strspn(at + size, \" \");", "break;", { lists, pages } },
  { "src/bind/call/pages.c", "if (lua_rawget(L, seen) == LUA_TNIL) lua_pushvalue", "lua_rawget(L, seen), lua_pushvalue", { pages } },
  { "src/bind/call/pages.c", "!way->by_records ? 1 :", "true ? 1 :", { pages } },
  { "src/bind/call/pages.c", "if (asked >= MOST_PAGES)", "if (false)", { lists, pages } },
  { "lua/fleet/call/init.lua", "facts.refreshes, call.rejected = facts.refreshes + 1, token",
    "facts.refreshes = facts.refreshes + 1", { call } },
  { "lua/fleet/call/init.lua", "facts.regions = facts.regions + 1", "", { call } },
  { "lua/fleet/call/init.lua", "facts.repeats = facts.repeats + 1", "", { call }, hangs = true },
  { "lua/fleet/call/init.lua", "(err.outcome == \"unknown\" and not call.facts.idempotent)",
    "false", { call, "spec/resources/methods_spec.lua" } },
  { "lua/fleet/call/init.lua", "if call.expires and now >= call.expires then", "if false then",
    { call, "spec/signing/command_spec.lua" } },
  { "lua/fleet/call/init.lua", "call.outcome_unknown = call.outcome_unknown or err.outcome == \"unknown\"", "", { call } },
  { "src/bind/call/reply.c", "if ((double)body.size > most)", "if (false)", { call } },
}
