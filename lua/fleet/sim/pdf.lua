-- A minimal PDF: one page of text lines. ISO 32000-1 section 7.5: header, objects, cross-reference table, trailer.
local M = {}

local function escape(line)
  return (line:gsub("[\\()]", "\\%0"):gsub("[^\32-\126]", "?"))
end

local function content(lines)
  local out = { "BT /F1 11 Tf 60 780 Td 16 TL" }
  for _, line in ipairs(lines) do out[#out + 1] = ("(%s) Tj T*"):format(escape(line)) end
  out[#out + 1] = "ET"
  return table.concat(out, "\n")
end

-- make(lines) → the bytes of the document. Characters outside ASCII become question marks.
function M.make(lines)
  local stream = content(lines)
  local objects = {
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    ("<< /Length %d >>\nstream\n%s\nendstream"):format(#stream, stream),
    "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
  }
  local out, at, offsets = { "%PDF-1.4\n" }, 9, {}
  for i, object in ipairs(objects) do
    offsets[i] = at
    out[#out + 1] = ("%d 0 obj\n%s\nendobj\n"):format(i, object)
    at = at + #out[#out]
  end
  out[#out + 1] = ("xref\n0 %d\n0000000000 65535 f \n"):format(#objects + 1)
  for _, offset in ipairs(offsets) do out[#out + 1] = ("%010d 00000 n \n"):format(offset) end
  out[#out + 1] = ("trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"):format(#objects + 1, at)
  return table.concat(out)
end

return M
