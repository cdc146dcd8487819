local framing, server = "spec/server/framing_spec.lua", "spec/server/server_spec.lua"

return {
  { "src/server/head.c", "bool good = name == l->at && value", "bool good = value", { framing } },
  { "src/server/head.c", "is_token((struct bytes){(const unsigned char *)name, size})", "size", { framing } },
  { "src/server/head.c", "version != x->raw_target + x->target.size + 1", "false", { framing } },
  { "src/server/head.c", "return l.good && l.at + LINE_END == *end;", "return l.good;", { framing } },
  { "src/server/head.c", "!is_target(x->raw_target) ||", "", { framing } },
  { "src/server/daemon.c", 'strcmp(version, "HTTP/1.1") != 0', "false", { framing } },
  { "src/server/daemon.c", "framings(x) > 1", "framings(x) > 2", { framing } },
  { "src/server/daemon.c", "x->misread = x->misread || has_bare_line_feed(x, data, *size);", "(void)has_bare_line_feed;", { framing } },
  { "src/server/daemon.c", "size <= SMALL_BODY", "size <= 1000 * SMALL_BODY", { server } },
  { "src/server/exchange.c", "if (size > d->limits.max_bodies - d->reserved) return false;", "", { server } },
  { "src/server/exchange.c", "x->daemon->reserved -= x->reserved;", "", { server } },
  { "src/server/server.c", "if (head && !r->answered) exchange_read_body(r->exchange);", "", { server }, hangs = true },
}
