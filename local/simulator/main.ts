import { runChild } from "../run-child.ts";
import type { SimulatorOptions } from "./settings.ts";
import { startSimulator } from "./start-simulator.ts";

await runChild<SimulatorOptions>(async (options) => (await startSimulator(options)).stop);
