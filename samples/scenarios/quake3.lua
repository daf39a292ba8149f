start("SERVER", "LINK")
for _, bot in ipairs({ "gargoyle", "kyonshi" }) do
  say("SERVER", "addbot " .. bot .. " 3")
end
start("ONE", "TWO")
wait(60, function()
  local status = say("SERVER", "status")
  return status:find("one") ~= nil and status:find("two") ~= nil
end, "both players")
sleep(values.seconds / 2)
faults("LINK", { delay = 0.05, jitter = 0.05, loss = tonumber(values.loss) })
sleep(values.seconds / 2)
