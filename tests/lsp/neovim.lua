-- A session in Neovim with the settings of docs/how-to/editor.md: a rule file is opened, a mistake typed, completed, repaired.
-- Writes what it saw, one fact a line, to `seen` in the folder.
local folder = vim.env.TAPSTER_FOLDER
local seen = {}
local function note(name, value) table.insert(seen, name .. ": " .. tostring(value)) end
local function wait(what, test)
  if not vim.wait(20000, test, 20) then note("gave up", what) end
end

dofile(folder .. '/settings.lua')
vim.cmd('filetype on')
vim.cmd.edit(folder .. '/mine/rows.toml')
wait('client', function() return #vim.lsp.get_clients({ bufnr = 0 }) == 1 end)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
note('client', client and client.name)
vim.api.nvim_buf_set_lines(0, 0, -1, false, {
  'kind = "overlay"', 'version = 2', 'name = "rows"', '[[slot]]', 'name = "scenario"', 'rol = "user"',
})
wait('diagnostic', function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and found[1].lnum == 5
end)
for _, found in ipairs(vim.diagnostic.get(0)) do note('diagnostic', found.lnum .. ' ' .. found.code) end
local function ask(method, line, column, more)
  local params = vim.tbl_extend('force', { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = column } }, more or {})
  local answer = vim.lsp.buf_request_sync(0, method, params, 20000)
  local _, first = next(answer or {})
  return first and first.result
end
local labels = {}
for _, item in ipairs(ask('textDocument/completion', 5, 3) or {}) do labels[item.label] = true end
note('completes role', labels['role'])
local hover = ask('textDocument/hover', 4, 10)
note('hover', hover and hover.contents.value:match('^[^\n]*'))
local whole = { start = { line = 0, character = 0 }, ['end'] = { line = 9, character = 0 } }
local actions = ask('textDocument/codeAction', 0, 0, { range = whole, context = { diagnostics = {} } })
note('action', actions and actions[1] and actions[1].title)
if actions and actions[1] then vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16') end
note('line', vim.api.nvim_buf_get_lines(0, 5, 6, false)[1])
wait('mended', function() return #vim.diagnostic.get(0) == 0 end)
note('diagnostics left', #vim.diagnostic.get(0))
vim.cmd('TapsterPreview ' .. folder .. '/scene.toml')
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end
wait('preview', function() return text():find('Hello.', 1, true) end)
note('preview has the message', text():find('Hello.', 1, true) ~= nil)
local file = assert(io.open(folder .. '/seen', 'w'))
file:write(table.concat(seen, '\n') .. '\n')
file:close()
vim.cmd('qall!')
