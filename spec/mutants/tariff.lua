local check, build, price = "spec/tariff/check_spec.lua", "spec/tariff/build_spec.lua", "spec/tariff/price_spec.lua"
local property = "spec/tariff/property_spec.lua"

return {
  { "src/tariff/model.c", "to > from ? to - from : to + 1440 - from", "to >= from ? to - from : to + 1440 - from", { check, price } },
  { "src/tariff/model.c", "(p->to_day - p->from_day + 7) % 7 + 1", "(p->to_day - p->from_day + 7) % 7", { check } },
  { "src/tariff/model.c", "if (to > TARIFF_WEEK) add_span", "if (false) add_span", { check, price } },
  { "src/tariff/price.c", "spans[middle].from <= minute", "spans[middle].from < minute", { price }, hangs = true },
  { "src/tariff/price.c", "end - midnight < 1440 ? end - midnight : 1440", "1440", { price, property } },
  { "src/tariff/timeline.c", "change < reached ? change : reached", "false ? change : reached", { price } },
  { "src/tariff/timeline.c", "minutes * 60 - second", "minutes * 60", { price } },
  { "src/tariff/cheapest.c", "start + wanted > last", "false", { price } },
  { "src/tariff/cheapest.c", "return order ? order : by_time(left, right)", "return order", { price } },
  { "src/tariff/prices.c", "rate->price == 0 && t->any_own", "t->any_own", { check, price } },
  { "src/tariff/prices.c", "if (rate->price >= 0) continue;", "if (rate->price > 0) continue;", { check } },
  { "src/tariff/raises.c", "kept_price(buy) >= kept_price(sell)", "kept_price(buy) > kept_price(sell)", { check, property } },
  { "src/tariff/gaps.c", "if (piece.count != 1)", "if (piece.count > 1)", { check } },
  { "src/tariff/gaps.c", "last->to == from && from % w->day != 0", "last->to == from", { check } },
  { "src/tariff/normalise.c", "rate->price > 0 ? rate->price : 0", "rate->price", { build } },
  { "src/tariff/normalise.c", "} else if (outlook.several) {", "} else if (false) {", { build } },
  { "src/tariff/raised_week.c", "own > paid ? own : paid", "own", { build } },
  { "src/tariff/encode.c", "if (rates == 0 && is_named(name, \"ALL\"))", "if (false)", { build } },
  { "src/tariff/encode.c", "p->to_minute / 60 % 24", "p->to_minute / 60", { build } },
  { "src/tariff/compare.c", "bytes_equal(buf_bytes(&one), buf_bytes(&other))", "true", { build, "spec/sim/walk_spec.lua" } },
  { "src/time/calendar.c", "% 400 == 0", "% 401 == 0", { "spec/time" } },
  { "lua/fleet/resources/time_of_use.lua", "if not wanted then return", "if false then return", { "spec/sim/walk_spec.lua" } },
}
