// Lockgate in OpenCode, and in Kilo: every tool call is put to the gate, and every result shown to it. Written by `lockgate install`.
// It fails closed: whatever goes wrong, the call is refused (a hook that throws refuses it) or the result withheld.
__LOCKGATE_GATE__
export const Lockgate = async ({ client, directory, worktree }) => {
  const parents = new Map();
  let configured; // what the client's own permissions say; nothing is changed where that is not known
  const rules = new Map(); // and what a session adds to them
  const begun = new Map(); // what comes first must be told first
  const expanded = new Map(); // what was typed behind a command's name, by the text that the command makes of it
  const running = new Map(); // arguments by call: what ran, whatever the result says
  // A sub-agent is a session of its own: the root session's labels are its labels.
  async function subject(id) {
    let root = id;
    for (let depth = 0; depth < 20; depth += 1) {
      if (!parents.has(root)) {
        const info = (await client.session.get({ path: { id: root } })).data;
        parents.set(root, info?.parentID ?? "");
        rules.set(root, [info?.permission]);
      }
      if (!parents.get(root)) return { session_id: root, agent_id: root === id ? "" : id };
      root = parents.get(root);
    }
    throw new Error(REFUSAL);
  }
  const ask = async (event, id, more) => {
    const who = await subject(id);
    if (event !== "session.created") await begun.get(who.session_id);
    return gate({ hook_event_name: event, ...who, cwd: directory, workspace: worktree === "/" ? directory : worktree, ...more });
  };
  const called = (input, args) => ({ tool_name: input.tool, tool_input: args ?? {}, tool_use_id: input.callID });
  // A person may be asked elsewhere: whoever sits before the client is told that, and where.
  function waiting(tool) {
    const message = `Lockgate asks a person about this ${tool} call. Answer in a terminal of your own: lockgate approvals watch`;
    const body = { title: "Lockgate", message, variant: "warning", duration: 15000 };
    return setTimeout(async () => { try { await client.tui.showToast({ body }); } catch {} }, 3000);
  }
  return {
    config: async (config) => {
      const agents = Object.values(config.agent ?? {}).concat(Object.values(config.mode ?? {}));
      configured = [config.permission, ...agents.map((agent) => agent?.permission)];
    },
    event: async ({ event }) => {
      if (event.type !== "session.created") return;
      const info = event.properties.info;
      parents.set(info.id, info.parentID ?? "");
      rules.set(info.id, [info.permission]);
      if (!info.parentID) begun.set(info.id, ask("session.created", info.id, {}).catch(() => {}));
    },
    "command.execute.before": async (input, output) => {
      for (const part of output.parts) if (part.text ?? part.prompt) expanded.set(part.text ?? part.prompt, input.arguments ?? "");
    },
    "chat.message": async (input, output) => {
      // What the client adds is not typed: the content of a file, the report of an agent, a prompt for later.
      const typed = output.parts.filter((part) => !part.synthetic);
      // Nor is what a command makes: its text is a file's of the project, or a server's.
      const prompt = typed.map((part) => expanded.get(part.text ?? part.prompt) ?? part.text ?? "").join("\n");
      await ask("chat.message", input.sessionID, { prompt, typed: typed.length > 0 });
    },
    "tool.execute.before": async (input, output) => {
      await subject(input.sessionID);
      const permissions = configured && [...configured, ...rules.get(input.sessionID)];
      const notice = waiting(input.tool);
      try {
        const { args } = await ask("tool.execute.before", input.sessionID, { ...called(input, output.args), permissions });
        if (args) Object.assign(output.args, args);
      } finally { clearTimeout(notice); }
      running.set(input.callID, output.args);
    },
    "tool.execute.after": async (input, output) => {
      const blocks = Array.isArray(output.content) ? output.content : undefined;
      const text = blocks ? blocks.map((block) => block.text ?? "").join("\n") : String(output.output ?? "");
      const args = running.get(input.callID) ?? input.args;
      running.delete(input.callID);
      let shown;
      try {
        shown = (await ask("tool.execute.after", input.sessionID, { ...called(input, args), tool_output: text })).output;
      } catch (error) { shown = error.message; }
      if (shown === undefined) return;
      if (blocks) output.content = [{ type: "text", text: shown }];
      else { output.output = shown; if (output.metadata) output.metadata = { truncated: false }; }
    },
  };
};
