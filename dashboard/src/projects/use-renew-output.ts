import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Prediction } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { forgetOutput } from "./steady-output.ts";
import { storeRun } from "./store-run.ts";

/** For a file that does not load: its address may have run out, so a fresh one is read once. `isBroken` when that did not help. */
export function useRenewOutput(run: Prediction) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const [failures, setFailures] = useState(0);
  const [round, setRound] = useState(0);
  const renew = () => {
    if (run.output !== null) forgetOutput(run.output);
    keyframe.readPrediction(run).then(
      (fresh) => {
        storeRun(queries, fresh);
        setRound((before) => before + 1);
      },
      () => setFailures(2),
    );
  };
  return {
    /** The key of what loads it: an address that was signed within the same second is the same one, and is tried again too. */
    round,
    isBroken: failures > 1,
    onLoaded: () => setFailures(0),
    onFailed: () => {
      setFailures(failures + 1);
      if (failures === 0) renew();
    },
    tryAgain: () => {
      setFailures(1);
      renew();
    },
  };
}
