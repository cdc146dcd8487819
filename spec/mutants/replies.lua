-- Mistakes in what replies of the service, of other signing proxies and of the authorization server mean.

local outcome, proxies, errs = "spec/http/outcome_spec.lua", "spec/call/proxy_replies_spec.lua", "spec/call/errors_spec.lua"
local pages, words, tokens = "spec/call/pages_spec.lua", "spec/client/words_spec.lua", "spec/oauth/tokens_spec.lua"

return {
  { "src/base/reason.c", "(prefixed || strchr(f->name, '_')) && same_name", "same_name", { outcome } },
  { "src/base/reason.c", "if (word.data) return text_cut(word, word_size(word));", "", { proxies } },
  { "src/base/reason.c", "if (c == '-' || c == ' ') c = '_';", "", { outcome } },
  { "src/http/outcome.c", "if (v->fault.found)\n    judge_fault(v);\n  else if (says_little(v->row))",
    "if (says_little(v->row))", { outcome, proxies } },
  { "src/http/outcome.c", "if (x->write && v.outcome == OUTCOME_REFUSED) v.transient = false;", "", { outcome, proxies } },
  { "src/http/outcome.c", "page ? (struct bytes){NULL, 0} : text_cut", "false ? (struct bytes){NULL, 0} : text_cut",
    { outcome, errs } },
  { "src/http/outcome.c", "if (x->proxied) judge_words(&v, x);", "judge_words(&v, x);", { outcome } },
  { "src/call/result.c", "bool answered = is_vehicle_answer(asked, reply->status, &s);", "bool answered = false;", { proxies } },
  { "src/call/result.c", "if (done->boolean && error) return fail_unexpected", "if (false) return fail_unexpected", { proxies } },
  { "src/call/result.c", "return reason ? reason : text_member(r, object, \"string\");", "return reason;", { proxies } },
  { "src/call/value.c", "row->bare ? NODE_LIST : NODE_OBJECT", "NODE_OBJECT", { "spec/call/values_spec.lua" } },
  { "lua/fleet/call/pages.lua", "(pagination.next == nil or pagination.next == \"\")", "pagination.next == nil", { pages } },
  { "src/oauth/reply.c", "if (row) e->outcome = row->outcome;", "", { "spec/oauth/token_spec.lua" } },
  { "src/base/redact.c", "return run.size >= LONG_WORD || (run.size", "return run.size >= 1 || (run.size", { errs } },
  { "src/http/retry_after.c", "return fmin(seconds + 1, LONGEST_WAIT);", "return seconds;", { "spec/call/replies_spec.lua" } },
  { "lua/fleet/call/failure.lua", "row.flags.charging_scope and \"vehicle_charging_cmds\" or row.scope", "row.scope", { errs } },
  { "lua/fleet/call/failure.lua", "for i, text in ipairs(texts) do texts[i] = core.redact(text, secrets) end", "", { errs } },
  { "lua/fleet/call/pages.lua", "self.own = self.own or new_state(self)", "self.own = new_state(self)", { pages }, hangs = true },
  { "lua/fleet/resources/wake.lua", "if not shared.pauses:again() or shared.pauses:left() <= 0 then", "if not shared.pauses:again() then",
    { words } },
  { "lua/fleet/oauth/scopes.lua", "if seen.offline_access and not seen.openid then", "if false then", { "spec/oauth/authorize_spec.lua" } },
  { "lua/fleet/oauth/token_cache.lua", "slot.known, slot.unsaved, slot.refused, slot.tried = false, false, false, false", "", { tokens } },
  { "lua/fleet/client/init.lua", "return M.new(tables.copy(options, variables))", "return M.new(tables.copy(variables, options))",
    { "spec/client/config_spec.lua" } },
  { "lua/fleet/async/loop.lua", "exported = exported and engine:take_fd(parents)", "exported = false",
    { "spec/async/tasks_spec.lua" } },
}
