-- The garage page, on which a person watches what a script does. It requests /garage.json once a second and draws the content; every text
-- is set as text, never as HTML.
local pages = require("fleet.sim.pages")

local M = {}

local STYLE = [[
body { max-width: 72rem; }
h2 { font-size: 1rem; margin: 1.6rem 0 .6rem; color: var(--note); font-weight: 600; }
#top { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; flex-wrap: wrap; }
#cars, #sites { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }
#sites { grid-template-columns: 1fr; } #below { display: grid; gap: 0 1.5rem; grid-template-columns: 1fr 1fr; }
.card { border: 1px solid var(--line); border-radius: .8rem; padding: 1rem 1.1rem; min-width: 0; }
.card header { display: flex; justify-content: space-between; align-items: flex-start; gap: .5rem; font-weight: 600; }
.vin { color: var(--note); font-size: .8rem; font-family: ui-monospace, monospace; }
.state { font-size: .8rem; font-weight: 500; padding: .05rem .55rem; border-radius: 1rem; background: var(--soft); }
.online { background: #2a9d5c33; } .asleep { background: #2a6fdb33; } .offline { background: #d9433333; }
.bar { position: relative; height: .7rem; border-radius: .35rem; background: var(--soft); margin: .8rem 0 .3rem; overflow: hidden; }
.fill { position: absolute; inset: 0 auto 0 0; background: #2a9d5c; transition: width .6s; }
.fill.low { background: #d98a00; } .fill.charging { background: #2a6fdb; }
.limit { position: absolute; z-index: 1; top: 0; bottom: 0; width: 2px; background: currentColor; opacity: .6; }
.level { font-size: .9rem; font-variant-numeric: tabular-nums; }
.chips { display: flex; flex-wrap: wrap; gap: .35rem; font-size: .8rem; margin-top: .5rem; }
.chips span { background: var(--soft); border-radius: .3rem; padding: .1rem .45rem; }
.chips .warn { background: #d98a0044; }
svg { width: 100%; height: auto; display: block; } svg text { fill: currentColor; font-size: 13px; }
svg .note { fill: var(--note); font-size: 11px; } svg .watts { font-weight: 600; }
svg .node { fill: var(--soft); stroke: var(--line); } svg .wire { stroke: var(--line); stroke-width: 2; fill: none; }
svg .flow { stroke-width: 3; fill: none; stroke-dasharray: 6 8; animation: flow 1s linear infinite; }
svg .back { animation-direction: reverse; }
@keyframes flow { to { stroke-dashoffset: -14; } }
@media (prefers-reduced-motion: reduce) { svg .flow { animation: none; } }
table { width: 100%; border-collapse: collapse; font-size: .85rem; } td { padding: .25rem .5rem; border-top: 1px solid var(--line); }
td.path { font-family: ui-monospace, monospace; width: 100%; } td.num.bad { color: #d94333; font-weight: 600; }
td:first-child, td.num { white-space: nowrap; font-variant-numeric: tabular-nums; color: var(--note); } .lost { opacity: .4; }
#who { display: flex; flex-wrap: wrap; gap: .35rem; margin-bottom: .6rem; }
#who button { margin: 0; padding: .15rem .7rem; font-size: .85rem; } #who [aria-pressed=true] { background: var(--accent); color: #fff; }
@media (max-width: 60rem) { #below { grid-template-columns: 1fr; } }
@media (max-width: 34rem) { td.class { display: none; } td { padding: .25rem .3rem; } }
]]

local SCRIPT = [[
const $ = id => document.getElementById(id);
const make = (tag, cls, text, parent) => {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
};
const NS = "http://www.w3.org/2000/svg";
const draw = (svg, tag, set, text) => {
  const e = document.createElementNS(NS, tag);
  for (const k in set) e.setAttribute(k, set[k]);
  if (text !== undefined) e.textContent = text;
  svg.append(e);
  return e;
};
const power = w => Math.abs(w) >= 1000 ? (w / 1000).toFixed(2) + " kW" : Math.round(w) + " W";

function car(v) {
  const c = make("section", "card");
  const h = make("header", "", undefined, c);
  make("span", "", v.name, h);
  make("span", "state " + v.state, v.waking ? "waking up" : v.state, h);
  make("div", "vin", v.vin + (v.plain ? " · plain commands" : " · signed commands"), c);
  const bar = make("div", "bar", undefined, c);
  const fill = make("div", "fill" + (v.charging === "Charging" ? " charging" : v.battery < 20 ? " low" : ""), undefined, bar);
  fill.style.width = v.battery + "%";
  const limit = make("div", "limit", undefined, bar);
  limit.style.left = "calc(" + v.limit + "% - 1px)";
  make("div", "level", v.battery + " %" + (v.kw > 0 ? " · " + v.kw.toFixed(1) + " kW, " + v.minutes + " min to " + v.limit + " %" : ""), c);
  const chips = make("div", "chips", undefined, c);
  const chip = (text, warn) => make("span", warn ? "warn" : "", text, chips);
  chip(v.charging === "Disconnected" ? "no cable" : v.charging);
  chip(v.inside.toFixed(1) + " °C" + (v.climate ? " to " + v.target + " °C" : ""), v.climate);
  chip(v.locked ? "locked" : "unlocked", !v.locked);
  if (v.trunk) chip("trunk open", true);
  if (v.frunk) chip("front trunk open", true);
  if (v.windows) chip("windows open", true);
  if (v.port && !v.cable) chip("charge port open", true);
  if (v.sentry) chip("sentry");
  if (v.valet) chip("valet");
  if (v.driving) chip("driving", true);
  return c;
}

function wire(svg, d, watts, color) {
  draw(svg, "path", { d, class: "wire" });
  if (Math.abs(watts) < 1) return;
  draw(svg, "path", { d, class: "flow" + (watts < 0 ? " back" : ""), stroke: color });
}

function node(svg, x, y, name, watts, note) {
  draw(svg, "circle", { cx: x, cy: y, r: 44, class: "node" });
  draw(svg, "text", { x, y: y - 12, "text-anchor": "middle" }, name);
  draw(svg, "text", { x, y: y + 7, "text-anchor": "middle", class: "watts" }, power(watts));
  if (note) draw(svg, "text", { x, y: y + 24, "text-anchor": "middle", class: "note" }, note);
}

function flow(s) {
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", "0 0 460 250");
  wire(svg, "M115 62 C180 62 180 125 230 125", s.sun, "#d98a00");
  wire(svg, "M115 188 C180 188 180 125 230 125", s.has_battery ? s.battery : 0, "#2a9d5c");
  wire(svg, "M345 62 C280 62 280 125 230 125", s.grid, "#8a5cd9");
  wire(svg, "M230 125 C280 125 280 188 345 188", s.load, "#2a6fdb");
  node(svg, 70, 62, "Sun", s.sun);
  if (s.has_battery) node(svg, 70, 188, "Battery", s.battery, Math.round(s.percent) + " %");
  node(svg, 390, 62, "Grid", s.grid, s.grid_up ? (s.grid < 0 ? "exporting" : s.grid > 0 ? "importing" : "") : "down");
  node(svg, 390, 188, "House", s.load);
  return svg;
}

function prices(s) {
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", "0 0 460 130");
  const most = Math.max(...s.prices.map(p => p ? p.price : 0)) || 1;
  s.prices.forEach((p, hour) => {
    if (!p) return;
    const height = 70 * p.price / most;
    draw(svg, "rect", { x: 10 + hour * 18.3, y: 105 - height, width: 16, height, rx: 2,
      fill: hour === s.hour ? "#2a6fdb" : "#2a6fdb66" });
  });
  for (let hour = 0; hour < 24; hour += 6) draw(svg, "text", { x: 10 + hour * 18.3, y: 121, class: "note" }, hour + ":00");
  const now = s.prices[s.hour];
  if (now) draw(svg, "text", { x: 449, y: 18, "text-anchor": "end" }, now.price + " " + (s.currency || "") + " now, " + now.label);
  return svg;
}

function site(s) {
  const c = make("section", "card");
  const h = make("header", "", undefined, c);
  make("span", "", s.name, h);
  make("span", "state" + (s.grid_up ? "" : " offline"),
    (s.storm ? "storm watch" : s.mode.replace("_", " ")) + (s.has_battery ? " · reserve " + s.reserve + " %" : ""), h);
  c.append(flow(s));
  if (s.prices) c.append(prices(s));
  return c;
}

// A line may break after a slash, nowhere else.
function path(c, row) {
  const cell = make("td", "path", c.method + " ", row);
  c.path.replace(/^\/api\/1\//, "").split(/(?<=\/)/).forEach(part => cell.append(part, make("wbr")));
  if (c.signed) cell.append(" · " + c.signed);
}

function call(c) {
  const row = make("tr");
  make("td", "", c.time.slice(11, 19), row);
  make("td", c.status >= 400 ? "num bad" : "num", c.status || "cut", row);
  path(c, row);
  make("td", "num", c.vin ? "..." + c.vin : "", row);
  make("td", "num class", c.billing && c.billing !== "free" ? c.billing : "", row);
  return row;
}

// Whose calls are shown: of a vehicle by the end of its VIN, or all.
let who = "", names = "";

function choice(name, vin) {
  const b = make("button", "", name, $("who"));
  b.onclick = () => { who = vin; press(); show(); };
  b.dataset.vin = vin;
}

function press() {
  for (const b of $("who").children) b.setAttribute("aria-pressed", b.dataset.vin === who);
}

function choices(vehicles) {
  const now = vehicles.map(v => v.name + v.vin).join("\n");
  if (now === names) return;
  names = now;
  $("who").replaceChildren();
  choice("All calls", "");
  vehicles.forEach(v => choice(v.name, v.vin.slice(-4)));
  press();
}

let calls = [];

function show() {
  const list = calls.filter(c => !who || c.vin === who).slice(0, 25);
  $("calls").replaceChildren(...list.map(call));
  $("none").hidden = list.length > 0;
}

async function look() {
  try {
    const g = await (await fetch("/garage.json")).json();
    document.body.classList.remove("lost");
    $("now").textContent = g.now.replace("T", " ").replace("+00:00", " UTC") + (g.speed !== 1 ? " · " + g.speed + " times as fast" : "");
    $("cars").replaceChildren(...g.vehicles.map(car));
    $("sites").replaceChildren(...g.sites.map(site));
    $("cost").textContent = g.usd > 0 ? "would cost " + g.usd.toFixed(3) + " USD" : "";
    calls = g.calls;
    choices(g.vehicles);
    show();
  } catch (e) {
    document.body.classList.add("lost");
    $("now").textContent = "the simulator has ended";
  }
  setTimeout(look, 1000);
}
look();
]]

function M.page()
  return ("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Garage</title>" ..
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>%s%s</style></head>\n<body>" ..
    "<p class=\"banner\">%s</p><div id=\"top\"><h1>Garage</h1><span class=\"note\" id=\"now\">…</span></div>" ..
    "<div id=\"cars\"></div><div id=\"below\"><div><h2>Energy</h2><div id=\"sites\"></div></div>" ..
    "<div><h2>Calls <span class=\"note\" id=\"cost\"></span></h2><div id=\"who\"></div>" ..
    "<p class=\"note\" id=\"none\">No call yet.</p><table><tbody id=\"calls\"></tbody></table></div></div>" ..
    "<script>%s</script></body></html>\n"):format(pages.STYLE, STYLE, pages.BANNER, SCRIPT)
end

return M
