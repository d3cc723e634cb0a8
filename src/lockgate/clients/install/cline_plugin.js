// Lockgate in Cline: every tool call is put to the gate, and every result shown to it. Written by `lockgate install cline`.
// It fails closed: whatever goes wrong, the call is skipped or the result withheld. A handler that throws ends the run.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
__LOCKGATE_GATE__
const LIMIT = 2500; // the client waits three seconds for a handler, and then ends the run
const TYPED = /^<user_input mode="(\w+)">([^]*)<\/user_input>$/; // what a person types, as the client wraps it
const roots = new Map(); // the conversation that an agent belongs to
const modes = new Map(); // by conversation: in which mode its person typed last
const running = new Map(); // arguments by call: what ran, whatever the result says
const skipped = new Set();

// Where a person types `/name`, the client puts the text of a workflow or a skill there, and takes its mark off again. So an
// address was typed only where no such file holds it, now or since this plugin was loaded: the window keeps old texts.
const MARKED = /<user_command\b[^]*<\/user_command>|<user_command\b[^]*/g;
const MENTIONED = /\[(?:file|image): [^]*\]/g; // a file's name in the place of `@file`; it can hold anything
const REMOVED = /<\/?(?:user_input|user_command|mode_notice)/i; // what the client takes out of a text, which then is found nowhere
const ADDRESS = /:\\?\/\\?\//;
const [MOST_ENTRIES, MOST_BYTES, MOST_ADDRESSES] = [5000, 8e6, 100];
const TOO_MUCH = "there is more than can be looked at";
const own = [process.env.CLINE_DIR, join(process.env.HOME ?? "", ".cline")];
const instructions = new Set();
let complete = true; // whether all were seen: else no address counts

function* places() {
  yield* [...own, join(process.env.HOME ?? "", ".agents"), join(process.env.HOME ?? "", "Documents", "Cline")];
  for (let at = process.cwd(), last; at !== last; [last, at] = [at, dirname(at)])
    for (const name of [".clinerules", ".cline", ".agents"]) yield join(at, name);
}
function* files() {
  const folders = new Set([...places()].filter((place) => place && statSync(place, { throwIfNoEntry: false })?.isDirectory()));
  let [entries, bytes] = [0, 0];
  for (const folder of folders) {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if ((entries += 1) > MOST_ENTRIES) throw new Error(TOO_MUCH);
      if (found?.isDirectory() && !(name === "data" && own.includes(folder))) folders.add(path); // sessions lie in data
      else if (found?.isFile() && /\.(md|markdown|txt)$/i.test(name)) {
        if ((bytes += found.size) > MOST_BYTES) throw new Error(TOO_MUCH);
        yield path;
      }
    }
  }
}
function remember() {
  try {
    for (const file of files()) instructions.add(readFileSync(file, "utf8"));
    const texts = [...instructions];
    if (texts.some((text) => REMOVED.test(text)) || texts.join("").length > MOST_BYTES) complete = false;
  } catch { complete = false; }
}
remember();
function typedWords(prompt) {
  if (prompt.startsWith("Lockgate prompt ")) return prompt; // its parts are registered
  const text = prompt.replace(MARKED, " ").replace(MENTIONED, " ");
  remember();
  const texts = [...instructions];
  const pieces = new Set((text.match(/[^\s\ufffd]+/g) ?? []).filter((piece) => ADDRESS.test(piece)));
  const others = [...pieces].filter((piece) => !complete || pieces.size > MOST_ADDRESSES || texts.some((text) => text.includes(piece)));
  return text.replace(/[^\s\ufffd]+/g, (piece) => (others.includes(piece) ? " " : piece));
}

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
    await ask("prompt", context, { prompt: typed === undefined ? text : typedWords(typed), typed: typed !== undefined });
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
