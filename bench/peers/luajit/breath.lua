-- The idle model of a packet engine on a tracing compiler.
--
--     luajit breath.lua nested|flat APPS BREATHS IDLE
--
-- Each breath calls the `pull` of every app in a list. The first IDLE breaths find nothing to do;
-- later ones change a field a hundred times per app. `nested` is a loop over the list within the
-- loop of breaths; `flat` is the same without an inner loop, so that one trace can hold a breath.
-- Prints the CPU seconds of the loop and the sum of the fields.

local way, apps_count, breaths, idle = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
assert((way == "nested" or way == "flat") and apps_count and breaths and idle, "see the first lines")

taken = 0
idle_breaths = idle

-- Compiled one by one: methods of different apps are different code.
local text = [[
  return function(self)
    if taken >= idle_breaths then
      for _ = 1, 100 do
        self.work = self.work + 1
      end
    end
  end
]]

local apps = {}
for i = 1, apps_count do
  apps[i] = setmetatable({ work = 0 }, { __index = { pull = loadstring(text)() } })
end

local function nested()
  repeat
    for i = 1, apps_count do
      apps[i]:pull()
    end
    taken = taken + 1
  until taken >= breaths
end

local function flat()
  repeat
    local i = 1
    ::next_app::
    do
      if i > apps_count then goto all_pulled end
      apps[i]:pull()
      i = i + 1
      goto next_app
    end
    ::all_pulled::
    taken = taken + 1
  until taken >= breaths
end

local before = os.clock()
if way == "nested" then nested() else flat() end
local seconds = os.clock() - before

local sum = 0
for i = 1, apps_count do
  sum = sum + apps[i].work
end
print(string.format("%.9f %.0f", seconds, sum))
