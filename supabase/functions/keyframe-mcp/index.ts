import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { pause } from "../../../shared/platform/retry.ts";
import { createMcp } from "./create-mcp.ts";

const NAME = "keyframe-mcp";

const mcp = createMcp(
  readEnvironment(functionEnvironments[NAME], (name) => Deno.env.get(name)),
  {
    now: () => new Date(),
    elapsed: () => performance.now(),
    sleep: pause,
    log: createLog({ function: NAME }),
    fetch,
  },
);

Deno.serve((request) => mcp.fetch(request));
