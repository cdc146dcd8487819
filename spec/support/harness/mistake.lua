-- A small mistake put into a text: what it replaces stands there once, so that it is known where the mistake is made.

--- The text with `to` in place of `from`; otherwise nil and why not.
return function(text, from, to)
  local first, last = string.find(text, from, 1, true)
  if not first then return nil, "what it replaces does not stand there" end
  if string.find(text, from, last + 1, true) then return nil, "what it replaces stands there more than once" end
  return string.sub(text, 1, first - 1) .. to .. string.sub(text, last + 1)
end
