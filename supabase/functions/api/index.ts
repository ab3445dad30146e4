import { createApi, systemOf } from "../../../shared/api/create-api.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";

const app = createApi(
  readEnvironment(functionEnvironments.api, (name) => Deno.env.get(name)),
  systemOf("api"),
);

Deno.serve((request) => app.fetch(request));
