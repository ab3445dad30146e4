import type { ArmedFault } from "./faults.ts";
import type { Simulator } from "./simulator.ts";

export type SimulatorState = ReturnType<Simulator["state"]>;
export type MadePrediction = ReturnType<Simulator["made"]>[number];

/** What a test may do to the simulator besides using it; the same over HTTP under `/control`. */
export type Control = {
  /** Applies a fault to the next `times` creates (of `model` only, when given). */
  arm(fault: Omit<ArmedFault, "times"> & { times?: number }): void;
  /** Forgets armed faults and which prompts their directives have struck. */
  clear(): void;
  /** Sets the delays of runs from now on, in milliseconds. */
  delays(delays: { startMs?: number; runMs?: number }): void;
  /** Moves the clock ahead: outputs expire, deadlines pass, delays and retries come due. */
  advance(seconds: number): void;
  state(): SimulatorState;
  /** Every prediction made, the newest first: for which request, and whether its end was asked for. */
  made(): MadePrediction[];
};

export function controlOf(simulator: Simulator): Control {
  const { faults, settings } = simulator;
  return {
    arm: ({ times = 1, ...fault }) => faults.arm({ ...fault, times }),
    clear: () => faults.clear(),
    delays: ({ startMs, runMs }) => {
      if (startMs !== undefined) settings.delays.startMs = startMs;
      if (runMs !== undefined) settings.delays.runMs = runMs;
    },
    advance: (seconds) => {
      settings.clock.advance(seconds * 1000);
      simulator.sweep();
    },
    state: () => simulator.state(),
    made: () => simulator.made(),
  };
}
