import { systemOf } from "../../../shared/api/create-api.ts";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";
import { createMcp } from "./create-mcp.ts";

const NAME = "keyframe-mcp";

const mcp = createMcp(
  readEnvironment(functionEnvironments[NAME], (name) => Deno.env.get(name)),
  systemOf(NAME),
);

Deno.serve((request) => mcp.fetch(request));
