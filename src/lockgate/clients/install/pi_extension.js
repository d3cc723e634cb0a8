// Lockgate in pi: every tool call is put to the gate, and every result shown to it. Written by `lockgate install pi`.
// It fails closed: whatever goes wrong, the call is refused (a handler that throws refuses it) or the result withheld.
__LOCKGATE_GATE__
const FILE_ID = /_([0-9a-f-]{36})\.jsonl$/; // a session's file ends with its id
const sessionOf = (file) => FILE_ID.exec(file ?? "")?.[1];

// What was decided is what runs: an extension that comes later may change a call only before the gate has seen it.
function freeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}

export default function (pi) {
  const told = new Set(); // files of instructions, which are told once in each session
  const ask = (event, ctx, more) => gate({
    hook_event_name: event,
    session_id: ctx.sessionManager.getSessionId(),
    transcript_path: ctx.sessionManager.getSessionFile() ?? "",
    cwd: ctx.cwd,
    ...more,
  });
  const called = (event) => ({ tool_name: event.toolName, tool_input: event.input ?? {}, tool_use_id: event.toolCallId });

  pi.on("session_start", async (event, ctx) => {
    told.clear();
    await ask("session_start", ctx, { reason: event.reason, parent: event.reason === "fork" ? sessionOf(event.previousSessionFile) : undefined });
  });
  pi.on("session_shutdown", async (event, ctx) => {
    await ask("session_shutdown", ctx, { reason: event.reason === "new" ? "clear" : event.reason });
  });
  pi.on("input", async (event, ctx) => {
    try {
      await ask("input", ctx, { prompt: event.text, source: event.source });
    } catch (error) {
      if (ctx.hasUI) ctx.ui.notify(error.message, "error");
      else console.error(error.message);
      return { action: "handled" };
    }
  });
  pi.on("before_agent_start", async (event, ctx) => {
    for (const file of event.systemPromptOptions?.contextFiles ?? []) {
      const path = file.path ?? file;
      if (told.has(path)) continue;
      await ask("context_file", ctx, { file: path });
      told.add(path);
    }
  });
  pi.on("tool_call", async (event, ctx) => {
    const answer = await ask("tool_call", ctx, { ...called(event), has_ui: ctx.hasUI === true });
    if (answer.ask !== undefined && !(ctx.hasUI && await ctx.ui.confirm("Lockgate", answer.ask))) {
      return { block: true, reason: `A person was asked and did not agree: ${answer.ask}` };
    }
    if (answer.args) {
      for (const name of Object.keys(event.input)) delete event.input[name];
      Object.assign(event.input, answer.args);
    }
    freeze(event.input);
    Object.defineProperty(event, "input", { writable: false, configurable: false });
  });
  pi.on("tool_result", async (event, ctx) => {
    try {
      const { output } = await ask("tool_result", ctx, { ...called(event), tool_output: event.content });
      if (output !== undefined) return { content: output };
    } catch (error) {
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  });
}
