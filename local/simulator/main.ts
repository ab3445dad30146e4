import { readSettings, startSimulator } from "./start-simulator.ts";

/**
 * The simulator as a process. It prints `{"ready":true,"port":12345}` when it serves, and ends at SIGTERM or SIGINT.
 */
async function main(): Promise<void> {
  const simulator = await startSimulator(readSettings());
  console.log(JSON.stringify({ ready: true, port: simulator.port }));

  const end = async () => {
    await simulator.stop();
    Deno.exit(0);
  };
  Deno.addSignalListener("SIGTERM", end);
  Deno.addSignalListener("SIGINT", end);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  Deno.exit(1);
}
