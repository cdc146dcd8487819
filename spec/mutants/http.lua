local connection, http, outcome = "spec/http/connection_spec.lua", "spec/http/http_spec.lua", "spec/http/outcome_spec.lua"

return {
  { "src/http/connection.c", "if (fd >= 0 && !c->transfer->fresh && !streams && !quiet(c, fd)) return false;", "", { connection } },
  { "src/http/connection.c", "&& socket_quiet(fd) && tls_quiet(c)", "&& socket_quiet(fd)", { connection } },
  { "src/http/connection.c", "!idle_too_long(find(c->http, fd), c->transfer) &&", "", { connection, http } },
  { "src/http/receive.c", "if (size > t->max_response)", "if (size > 2 * t->max_response)", { http } },
  { "src/http/receive.c", "t->length == length", "true", { http, connection } },
  { "src/http/receive.c", "t->headers_done = r->status >= 200;", "t->headers_done = true;", { http } },
  { "src/http/failure.c", "if (!r->sent) return meanings[i].before;", "", { http } },
  { "src/http/outcome.c", "v.outcome = x->sent ? OUTCOME_UNKNOWN : OUTCOME_NOT_SENT;", "v.outcome = OUTCOME_UNKNOWN;", { outcome, http } },
  { "src/http/outcome.c", "if (row->trait == TRAIT_PROXY && !x->proxied) return false;", "", { outcome } },
  { "src/http/outcome.c", "return v->outcome == OUTCOME_NOT_SENT ? 1 : 0;", "return 1;", { outcome } },
  { "src/http/outcome.c", "h->own_token && h->refreshes == 0", "h->own_token && h->refreshes <= 1", { outcome } },
  { "src/http/outcome.c", "fmax(pauses[h->repeats], v->retry_after)", "pauses[h->repeats]", { outcome } },
  { "src/http/retry_after.c", "if (retry >= 0) return retry;", "", { outcome } },
  { "src/http/outcome.c", "if (!h->write || h->idempotent) return 2;", "return 2;", { outcome } },
  { "src/http/other_host.c", "authority.size > size && !memchr(authority.data, ':', authority.size)",
    "authority.size > size", { outcome } },
  { "src/http/outcome.c", "return status == 205 || status == 206;", "return status == 205;", { outcome } },
  { "src/http/outcome.c", "row->kind == KIND_asleep) return KIND_offline;", "row->kind == KIND_asleep) return KIND_asleep;", { outcome } },
}
