import { createDocument } from "zod-openapi";
import { events } from "./events.ts";
import { pathsOf } from "./paths.ts";

const ABOUT = `Projects, frames and videos for AI film-making apps.

Sign in with Supabase Auth and send the session's access token. Every answer is \`{ success, data, error }\`; the codes of
\`error\` are stable. Identifiers are UUIDs, times ISO 8601 in UTC.`;

/** The OpenAPI 3.1 document of the API, made of the contract. \`serverUrl\` is where its functions are: https://…/functions/v1. */
export function openApiDocument(serverUrl: string, version: string) {
  return createDocument({
    openapi: "3.1.1",
    info: { title: "Keyframe", version, description: ABOUT, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: serverUrl }],
    tags: ["Projects", "Generation", "Webhooks", "Events", "Service"].map((name) => ({ name })),
    paths: pathsOf(),
    ...(events ? { webhooks: events } : {}),
    components: {
      securitySchemes: {
        session: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "A user's session: supabase.auth.getSession().",
        },
        secretKey: {
          type: "apiKey",
          in: "header",
          name: "apikey",
          description:
            "The project's secret key (sb_secret_…), for service-wide webhook endpoints, figures and metrics. Never in an app.",
        },
      },
    },
  });
}
