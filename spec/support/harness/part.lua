-- How much of a long matrix runs: with FLEET_ALL (`make torture`) the whole, in the suite a part that meets each of its kinds.
return function(whole, part)
  return os.getenv "FLEET_ALL" and whole or part
end
