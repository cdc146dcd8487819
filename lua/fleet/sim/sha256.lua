-- SHA-256 (FIPS 180-4) for code_challenge, in plain arithmetic: it runs once per sign-in, and the simulator should not need
-- the client's C core for it.
local function table_of(operation)
  local t = {}
  for a = 0, 15 do
    for b = 0, 15 do
      local v = 0
      for bit = 0, 3 do
        local x, y = math.floor(a / 2 ^ bit) % 2, math.floor(b / 2 ^ bit) % 2
        v = v + operation(x, y) * 2 ^ bit
      end
      t[a * 16 + b] = v
    end
  end
  return t
end

local XOR = table_of(function(x, y) return (x + y) % 2 end)
local AND = table_of(function(x, y) return x * y end)

local function by_digits(digits, a, b)
  local v, place = 0, 1
  for _ = 1, 8 do
    local x, y = a % 16, b % 16
    v = v + digits[x * 16 + y] * place
    a, b, place = (a - x) / 16, (b - y) / 16, place * 16
  end
  return v
end

local function xor(a, b) return by_digits(XOR, a, b) end

local function band(a, b) return by_digits(AND, a, b) end

local function rotate(a, n)
  local low = a % 2 ^ n
  return (a - low) / 2 ^ n + low * 2 ^ (32 - n)
end

local function sigma(a, r1, r2, r3)
  return xor(xor(rotate(a, r1), rotate(a, r2)), rotate(a, r3))
end

local function small_sigma(a, r1, r2, shift)
  return xor(xor(rotate(a, r1), rotate(a, r2)), math.floor(a / 2 ^ shift))
end

-- The constants are the fractions of square and cube roots of the first primes.
local function fraction(root) return math.floor((root % 1) * 2 ^ 32) end

local K, H = {}, {}
do
  local candidate = 2
  while #K < 64 do
    local prime = true
    for d = 2, candidate - 1 do
      if candidate % d == 0 then
        prime = false
        break
      end
    end
    if prime then
      if #H < 8 then H[#H + 1] = fraction(candidate ^ 0.5) end
      K[#K + 1] = fraction(candidate ^ (1 / 3))
    end
    candidate = candidate + 1
  end
end

local function schedule(block)
  local w = {}
  for i = 1, 16 do
    local a, b, c, d = block:byte(i * 4 - 3, i * 4)
    w[i] = ((a * 256 + b) * 256 + c) * 256 + d
  end
  for i = 17, 64 do
    w[i] = (w[i - 16] + small_sigma(w[i - 15], 7, 18, 3) + w[i - 7] + small_sigma(w[i - 2], 17, 19, 10)) % 2 ^ 32
  end
  return w
end

local function compress(state, block)
  local w = schedule(block)
  local a, b, c, d, e, f, g, h = (table.unpack or unpack)(state) -- luacheck: ignore
  for i = 1, 64 do
    local choice = xor(band(e, f), band(2 ^ 32 - 1 - e, g))
    local t1 = h + sigma(e, 6, 11, 25) + choice + K[i] + w[i]
    local majority = xor(xor(band(a, b), band(a, c)), band(b, c))
    local t2 = sigma(a, 2, 13, 22) + majority
    h, g, f, e, d, c, b, a = g, f, e, (d + t1) % 2 ^ 32, c, b, a, (t1 + t2) % 2 ^ 32
  end
  local sums = { a, b, c, d, e, f, g, h }
  for i = 1, 8 do state[i] = (state[i] + sums[i]) % 2 ^ 32 end
end

local function word(v)
  return string.char(math.floor(v / 2 ^ 24), math.floor(v / 2 ^ 16) % 256, math.floor(v / 256) % 256, v % 256)
end

-- sha256(text) → 32 bytes.
return function(text)
  local state = {}
  for i = 1, 8 do state[i] = H[i] end
  local bits = #text * 8
  text = text .. "\128" .. ("\0"):rep((55 - #text) % 64) .. word(math.floor(bits / 2 ^ 32)) .. word(bits % 2 ^ 32)
  for at = 1, #text, 64 do compress(state, text:sub(at, at + 63)) end
  for i = 1, 8 do state[i] = word(state[i]) end
  return table.concat(state)
end
