-- Takes changes that the former process had taken since its maps were written:
--   LENGTH MAP KEY VALUE   or, for a key that is gone,   LENGTH MAP KEY
-- where LENGTH counts the bytes after it: a line that the router did not finish is left out.
local folder, clientMark = ...

local function take(file)
  for line in file:lines() do
    local length, rest = string.match(line, "^(%d+) (.*)$")
    if length and tonumber(length) == #rest then
      local map, key, value = string.match(rest, "^(%S+) (%S+) (.+)$")
      if not map then
        map, key = string.match(rest, "^(%S+) (%S+)$")
      end
      -- The authorities that this mark stands for are in a list, not in a map, and what this
      -- process has read there may be others. With a mark that no route has, connections are
      -- refused until the router has compared.
      if map == "sni" and value and string.sub(value, 1, #clientMark) == clientMark then
        value = value .. "!"
      end
      local name = folder .. "/maps/" .. (map or "") .. ".map"
      -- A map that this configuration does not have is an error, and else the end of the start.
      if value then
        pcall(core.set_map, name, key, value)
      elseif key then
        pcall(core.del_map, name, key)
      end
    end
  end
  file:close()
end

core.register_init(function()
  -- The newest ones are opened first: if the router makes them the former ones meanwhile,
  -- they are taken twice, and not left out.
  local newest = io.open(folder .. "/changes", "r")
  local former = io.open(folder .. "/changes-former", "r")
  if former then
    take(former)
  end
  if newest then
    take(newest)
  end
end)
