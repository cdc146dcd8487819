-- The drawing of doc/architecture.md, made from the include lines of src/ and the require calls of lua/: a box per room, an
-- arrow from each room to those below that it uses. Written by `make doc`.
--
-- A room that most others use is a bar at the bottom; it names what it uses itself. An arrow is left out where a longer way says the same.

local M = {}

local WIDTH, MARGIN = 1040, 20
local BOX_WIDTH, BOX_HEIGHT, ROW = 116, 38, 78

-- ---- the graph ----

local function lines(command)
  local list, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- A graph is { rooms = list, uses = room -> set of rooms, notes = room -> set of texts }.
local function new_graph()
  return { rooms = {}, uses = {}, notes = {} }
end

local function add_room(graph, room)
  if graph.uses[room] then return end
  graph.rooms[#graph.rooms + 1] = room
  graph.uses[room], graph.notes[room] = {}, {}
end

local function add_use(graph, room, other)
  add_room(graph, room)
  if room == other then return end
  add_room(graph, other)
  graph.uses[room][other] = true
end

-- Libraries by the header that identifies them.
local libraries = { curl = "libcurl", openssl = "libcrypto", ["protobuf-c"] = "protobuf-c", microhttpd = "libmicrohttpd",
  hiredis = "hiredis", mosquitto = "libmosquitto", ["lua"] = "Lua" }

--- The rooms of src/.
function M.c_rooms()
  local graph = new_graph()
  for _, path in ipairs(lines("find src -name '*.[ch]' | sort")) do
    local room, text = string.match(path, "^src/([^/]+)/"), "\n" .. read(path)
    add_room(graph, room)
    for name in string.gmatch(text, "\n#include \"([^/\"]+)/") do add_use(graph, room, name) end
    for name in string.gmatch(text, "\n#include <([%w%-]+)") do
      if libraries[name] then graph.notes[room][libraries[name]] = true end
    end
  end
  return graph
end

--- The rooms of lua/fleet/, and what they use of the C core.
function M.lua_rooms()
  local graph = new_graph()
  for _, path in ipairs(lines("find lua -name '*.lua' -not -name types.lua | sort")) do
    local room = string.match(path, "^lua/fleet/([^/]+)/") or "init.lua"
    add_room(graph, room)
    local text = read(path)
    for name in string.gmatch(text, "require%s*%(?%s*[\"']fleet([%w_%.]*)[\"']") do
      add_use(graph, room, string.match(name, "^%.([%w_]+)") or "init.lua")
    end
    for part in string.gmatch(text, "fleet%.util%.part\"%)%.need%s*%(?[\"']([%w_]+)[\"']") do
      graph.notes[room]["fleet." .. part] = true
    end
  end
  return graph
end

-- ---- the position of a room ----

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- Rooms that at least half of the others use.
local function bars_of(graph)
  local count, bars = {}, {}
  for _, room in ipairs(graph.rooms) do
    for other in pairs(graph.uses[room]) do count[other] = (count[other] or 0) + 1 end
  end
  for _, room in ipairs(graph.rooms) do
    if (count[room] or 0) * 2 >= #graph.rooms - 1 then bars[room] = true end
  end
  return bars
end

-- Whether a way leads from one room to another. skip: an edge { from, to } that it must not take.
local function leads(graph, bars, from, to, skip)
  local seen = {}
  local function walk(room)
    if seen[room] then return false end
    seen[room] = true
    for other in pairs(graph.uses[room]) do
      local taken = not bars[other] and not (skip and skip[1] == room and skip[2] == other)
      if taken and (other == to or walk(other)) then return true end
    end
    return false
  end
  return walk(from)
end

-- The level of each room: above all that it uses. Rooms that use each other are on one level.
local function levels_of(graph, bars)
  local level, open = {}, {}
  local function visit(room)
    if level[room] then return level[room] end
    if open[room] then return 0 end
    open[room] = true
    local highest = 0
    for _, other in ipairs(sorted(graph.uses[room])) do
      if not bars[other] and not leads(graph, bars, other, room) then highest = math.max(highest, visit(other)) end
    end
    open[room] = nil
    level[room] = highest + 1
    return level[room]
  end
  for _, room in ipairs(sorted(graph.uses)) do
    if not bars[room] then visit(room) end
  end
  -- Rooms of one circle: the highest counts.
  for a in pairs(level) do
    for b in pairs(level) do
      if a ~= b and level[b] > level[a] and leads(graph, bars, a, b) and leads(graph, bars, b, a) then level[a] = level[b] end
    end
  end
  return level
end

-- Edges that no longer way implies, as { from, to, both = whether there is one back }.
local function edges_of(graph, bars)
  local list = {}
  for _, room in ipairs(sorted(graph.uses)) do
    for _, other in ipairs(bars[room] and {} or sorted(graph.uses[room])) do
      local back = graph.uses[other][room] == true
      local implied = not back and leads(graph, bars, room, other, { room, other })
      if not bars[other] and not implied and not (back and other < room) then list[#list + 1] = { room, other, both = back } end
    end
  end
  return list
end

-- Rows from the top; in a row, a room is near the middle of the rooms above that use it.
local function rows_of(level, edges)
  local rows, highest = {}, 0
  for _, height in pairs(level) do highest = math.max(highest, height) end
  for i = 1, highest do rows[i] = {} end
  for _, room in ipairs(sorted(level)) do table.insert(rows[highest - level[room] + 1], room) end
  local at = {}
  for _, row in ipairs(rows) do
    local wish = {}
    for i, room in ipairs(row) do
      local sum, count = 0, 0
      for _, edge in ipairs(edges) do
        if edge[2] == room and at[edge[1]] then sum, count = sum + at[edge[1]], count + 1 end
      end
      wish[room] = count > 0 and sum / count or i / (#row + 1)
    end
    table.sort(row, function(a, b)
      if wish[a] ~= wish[b] then return wish[a] < wish[b] end
      return a < b
    end)
    for i, room in ipairs(row) do at[room] = i / (#row + 1) end
  end
  return rows, at
end

-- ---- SVG ----

local function add(out, text, ...)
  out[#out + 1] = string.format(text, ...)
end

local function box(out, x, y, width, name, note)
  add(out, '<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="4"/>', x, y, width, BOX_HEIGHT)
  add(out, '<text x="%.1f" y="%.1f">%s</text>', x + width / 2, y + (note and 17 or 24), name)
  if note then add(out, '<text class="note" x="%.1f" y="%.1f">%s</text>', x + width / 2, y + 31, note) end
end

-- Between rooms of one row it bends below them.
local function arrow(out, from, to, both)
  local middle = from.y == to.y and from.y + 26 or (from.y + to.y) / 2
  add(out, '<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"%s/>', from.x, from.y, from.x, middle, to.x, middle, to.x, to.y,
    both and ' class="both"' or "")
end

local function note_of(graph, room)
  local list = sorted(graph.notes[room])
  return list[1] and table.concat(list, ", ") or nil
end

-- A bar has no arrows: it names what it uses itself.
local function bar_note(graph, room)
  local list = sorted(graph.uses[room])
  return "used by most rooms" .. (list[1] and "; uses " .. table.concat(list, ", ") or "")
end

-- One graph from y on; returns where it ends.
local function draw(out, graph, title, top)
  local bars = bars_of(graph)
  local level, edges = levels_of(graph, bars), edges_of(graph, bars)
  local rows, at = rows_of(level, edges)
  add(out, '<text class="title" x="%d" y="%d">%s</text>', MARGIN, top + 16, title)
  top = top + 30
  local place = {}
  for i, row in ipairs(rows) do
    for _, room in ipairs(row) do
      place[room] = { x = MARGIN + at[room] * (WIDTH - 2 * MARGIN), y = top + (i - 1) * ROW }
    end
  end
  for _, edge in ipairs(edges) do
    local from, to = place[edge[1]], place[edge[2]]
    local level_with = from.y == to.y
    arrow(out, { x = from.x, y = from.y + BOX_HEIGHT }, { x = to.x, y = level_with and to.y + BOX_HEIGHT or to.y - 2 }, edge.both)
  end
  for _, room in ipairs(sorted(place)) do
    box(out, place[room].x - BOX_WIDTH / 2, place[room].y, BOX_WIDTH, room, note_of(graph, room))
  end
  local y = top + #rows * ROW - 14
  local list = sorted(bars)
  for i, room in ipairs(list) do
    local width = (WIDTH - 2 * MARGIN - (#list - 1) * 12) / #list
    box(out, MARGIN + (i - 1) * (width + 12), y, width, room, bar_note(graph, room))
  end
  return y + (list[1] and BOX_HEIGHT or 0) + 24
end

local style = [[
<style>
text { font: 13px sans-serif; text-anchor: middle; fill: #1b2a2e }
.title { font-weight: bold; text-anchor: start }
.note { font-size: 10px; fill: #4a6067 }
rect { fill: #e3f1f1; stroke: #33626b }
path { fill: none; stroke: #7d989e; stroke-width: 1.2; marker-end: url(#head) }
path.both { marker-start: url(#head) }
.page { fill: #ffffff; stroke: none }
.tip { fill: #7d989e; stroke: none; marker-end: none }
@media (prefers-color-scheme: dark) {
text { fill: #e2ecee } .note { fill: #a3b6bb } rect { fill: #1f3539; stroke: #6fa3ac } path { stroke: #7d989e } .page { fill: #15191d }
}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>]]

--- The drawing of two graphs as SVG text: what `make doc` writes for the tree itself.
function M.svg(lua, c)
  local out = {}
  local y = draw(out, lua or M.lua_rooms(), "lua/fleet: order, waiting, printing. core is the C core below.", 8)
  y = draw(out, c or M.c_rooms(), "src: decisions and bytes. Small letters: the libraries that this room alone includes.", y + 10)
  local head = string.format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">', WIDTH, y, WIDTH, y)
  return table.concat({ head, style, string.format('<rect class="page" width="%d" height="%d"/>', WIDTH, y), table.concat(out, "\n"),
    "</svg>" }, "\n") .. "\n"
end

return M
