import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createLog } from "../../../shared/platform/log.ts";
import { pause } from "../../../shared/platform/retry.ts";
import { createApi } from "../../../shared/api/create-api.ts";

const app = createApi(
  readEnvironment(functionEnvironments.api, (name) => Deno.env.get(name)),
  {
    now: () => new Date(),
    elapsed: () => performance.now(),
    sleep: pause,
    log: createLog({ function: "api" }),
    fetch,
  },
);

Deno.serve((request) => app.fetch(request));
