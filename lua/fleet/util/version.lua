-- The version of the module, the rock, the User-Agent and the discovery messages.
return "1.0.0"
