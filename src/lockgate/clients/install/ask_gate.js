import { spawn } from "node:child_process";

const COMMAND = __LOCKGATE_COMMAND__;
const WAITS = __LOCKGATE_WAITS__; // the event of a call: a person may be asked about it
const REFUSAL = "Lockgate could not decide and blocks to be safe. Run: lockgate doctor";

// Asks the gate; rejects with its reason where it refuses, fails or does not answer in time (milliseconds).
function gate(payload, limit = payload.hook_event_name === WAITS ? 3630000 : 20000) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "--event", payload.hook_event_name], { stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), limit);
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (part) => { said += part; });
    child.stdin.on("error", () => {});
    child.on("error", () => reject(new Error(REFUSAL)));
    child.on("close", (code) => {
      clearTimeout(timer);
      let answer;
      try { answer = JSON.parse(said); } catch { return reject(new Error(REFUSAL)); }
      if (code !== 0 || answer.deny) return reject(new Error(answer.deny ?? REFUSAL));
      resolve(answer);
    });
    child.stdin.end(JSON.stringify(payload));
  });
}
