local session, receiver = "spec/signing/session_spec.lua", "spec/signing/receiver_spec.lua"
local faults, api, pool = "spec/signing/fault_matrix_spec.lua", "spec/signing/session_api_spec.lua", "spec/signing/session_pool_spec.lua"
local decisions = "spec/signing/decisions_spec.lua"

return {
  { "src/signing/window.c", "age <= WINDOW_WIDTH", "age < WINDOW_WIDTH", { receiver, session } },
  { "src/signing/window.c", "&& !(w.used & shifted(1, age - 1))", "", { receiver, session } },
  { "src/signing/window.c", "shifted(w.used, ahead) | shifted(1, ahead - 1)", "shifted(w.used, ahead)", { receiver, session } },
  { "src/signing/session.c", "ok = ok && bytes_equal_secret((struct bytes){tag, MAC_SIZE}, m->tag);", "", { session, api } },
  { "src/signing/session.c", "if (s->pinned && k != &s->secrets) return say_key_changed(e);", "", { session, api } },
  { "src/signing/session.c", "if (now - r->sent > INFO_LATENCY)", "if (false)", { session, api } },
  { "src/signing/pending.c", "if (m->from_domain != (uint32_t)domain)", "if (false)", { session, api } },
  { "src/signing/pending.c", "if (!is(r->address, ADDRESS_SIZE, m->to_address)) continue;", "", { session, api } },
  { "src/signing/pending.c", "if (m->request_uuid.data && !is(r->uuid, UUID_SIZE, m->request_uuid)) continue;", "", { session, api } },
  { "src/signing/epoch.c", "return i->counter < m->counter;", "return i->counter <= m->counter;", { session, faults } },
  { "src/signing/epoch.c", "return i->clock_time > passed;", "return true;", { session, faults } },
  { "src/signing/epoch.c", "return i->clock_time < s->clock_time;", "return false;", { session } },
  { "src/signing/epoch.c", "if (i->counter > s.counter) s.counter = i->counter;", "s.counter = i->counter;", { session } },
  { "src/signing/fault.c", "!row || evidence == EVIDENCE_AGAINST", "!row", { session, faults, api } },
  { "src/signing/fault.c", "evidence == EVIDENCE_PROOF ? OUTCOME_REFUSED : OUTCOME_UNKNOWN", "OUTCOME_REFUSED", { session, faults, api } },
  { "src/signing/session_sign.c", "s->state.counter++;", "", { session } },
  { "src/signing/session_answer.c", "if (!fresh) return", "if (false) return", { session, api } },
  { "src/signing/receiver.c", "m->epoch.data && !bytes_equal(m->epoch, epoch)", "false", { receiver } },
  { "src/signing/receiver.c", "m->expires_at != 0 && m->expires_at < clock", "m->expires_at != 0 && m->expires_at <= clock", { receiver } },
  { "src/signing/receiver.c", "if (old && long_lived)", "if (old)", { receiver } },
  { "src/signing/session_record.c", "(ahead < left ? ahead : left)", "0", { session, api } },
  { "src/signing/wire/command_result.c", "if (f->authenticated) e->outcome = OUTCOME_UNKNOWN;", "", { "spec/signing/message_spec.lua" } },
  { "src/signing/recovery.c", "x->outcome == OUTCOME_REFUSED && !x->signed_again", "!x->signed_again", { decisions } },
  { "src/signing/recovery.c", "x->repeats >= MOST_REPEATS", "x->repeats > MOST_REPEATS", { decisions } },
  { "src/signing/transport.c", "if (x->outcome_unknown && !x->idempotent) return false;", "", { decisions } },
  { "lua/fleet/signing/session_pool.lua", "local block = 32", "local block = 33", { pool } },
  { "lua/fleet/signing/session_pool.lua", "slot.used = false, 0, now", "slot.used = false, slot.reserved, now", { pool } },
  { "lua/fleet/signing/session_pool.lua", "if not ok and kind == \"conflict\" then return nil, err, kind end", "", { pool } },
}
