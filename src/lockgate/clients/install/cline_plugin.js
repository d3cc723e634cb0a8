// Lockgate in Cline: every tool call is put to the gate, and every result shown to it. Written by `lockgate install cline`.
// It fails closed: whatever goes wrong, the call is skipped or the result withheld. A handler that throws ends the run.
__LOCKGATE_GATE__
const LIMIT = 2500; // the client waits three seconds for a handler, and then ends the run
const TYPED = /^<user_input mode="(\w+)">([^]*)<\/user_input>$/; // what a person types, as the client wraps it
const roots = new Map(); // the conversation that an agent belongs to
const modes = new Map(); // by conversation: in which mode its person typed last
const running = new Map(); // arguments by call: what ran, whatever the result says
const skipped = new Set();

// A sub-agent has a conversation of its own: the labels of the one that it began in are its labels.
function subject({ agentId, parentAgentId, conversationId }) {
  const root = parentAgentId ? roots.get(parentAgentId) : conversationId;
  if (!root) throw new Error(REFUSAL);
  roots.set(agentId, root);
  return { session_id: root, agent_id: parentAgentId ? agentId : "" };
}
const ask = async (event, { snapshot }, more) => {
  const who = subject(snapshot);
  return gate({ hook_event_name: event, ...who, cwd: process.cwd(), mode: modes.get(who.session_id), ...more }, LIMIT);
};
const called = ({ toolName, toolCallId }, input) => ({ tool_name: toolName, tool_input: input ?? {}, tool_use_id: toolCallId });

async function beforeRun(context) {
  const { parentAgentId, messages } = context.snapshot;
  try {
    if (parentAgentId) return void subject(context.snapshot);
    if (messages.length <= 1) await ask("session_start", context, {});
    const said = messages.filter(({ role }) => role === "user").at(-1)?.content ?? [];
    const text = said.map((part) => part.text ?? "").join("\n");
    const [, mode, typed] = TYPED.exec(text) ?? [];
    modes.set(context.snapshot.conversationId, mode);
    await ask("prompt", context, { prompt: typed ?? text, typed: typed !== undefined });
  } catch (error) {
    return { stop: true, reason: error.message };
  }
}
async function beforeTool(context) {
  const { toolCall, input } = context;
  try {
    const { args } = await ask("before_tool", context, called(toolCall, input));
    running.set(toolCall.toolCallId, args ?? input);
    return args && { input: args };
  } catch (error) {
    skipped.add(toolCall.toolCallId);
    return { skip: true, reason: error.message };
  }
}
async function afterTool(context) {
  const { toolCall, result } = context;
  if (skipped.delete(toolCall.toolCallId)) return undefined;
  const input = running.get(toolCall.toolCallId) ?? context.input;
  running.delete(toolCall.toolCallId);
  try {
    const { output } = await ask("after_tool", context, { ...called(toolCall, input), tool_output: result.output });
    return output === undefined ? undefined : { result: { ...result, output } };
  } catch (error) {
    return { result: { ...result, output: error.message, isError: true } };
  }
}

export default { name: "lockgate", manifest: { capabilities: ["hooks"] }, hooks: { beforeRun, beforeTool, afterTool } };
