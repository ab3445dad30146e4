import { createDocument } from "zod-openapi";
import { events } from "./events.ts";
import { pathsOf } from "./paths.ts";

const ABOUT = `Projects, frames and videos for AI film-making apps.

Sign in with Supabase Auth and send the session's access token, or send a key that you made (\`POST /api/keys\`). Every answer is \`{ success, data, error }\`; the codes of
\`error\` are stable. Identifiers are UUIDs, times ISO 8601 in UTC.

Requests are limited per user and kind; \`RateLimit\` and \`RateLimit-Policy\` show what is left. A refused request counts too, and a
repetition with the same \`Idempotency-Key\` as a read. A film counts once more for each ten shots, a page of projects with predictions for
each ten projects, of predictions or deliveries for each 25, of films for each thousand shots in them, usage by project once for each day.
The number of a user's concurrent requests is limited too. On \`rate_limited\` and \`unavailable\`, wait for the time in \`Retry-After\`.`;

const TAGS = {
  Projects:
    "A project is one shot: a title, the prompt of a scene, and what is generated for it. Nothing here is charged by the provider.",
  Films: "A film is a sequence of up to 500 shots. A project does not have to be in a film.",
  Elements:
    "An element is a character, place, prop or style that several shots share, with a name, a text and up to eight images. A film's cast is its elements; starts use them.",
  Generation:
    "Starts a step of a project (first frame, last frame or video) and follows it. Generation runs in the background: a start returns a prediction, and you poll it or receive an event. Only starts are charged by the provider.",
  Webhooks:
    "Registers the addresses that receive events, manages their signing secrets, and shows and repeats deliveries. A failed delivery is retried for about three days.",
  Events:
    "What Keyframe sends to webhook endpoints, signed as in Standard Webhooks. Verify the signature of the raw body, store the event under its `webhook-id` and answer with 2xx within 15 seconds; an event can arrive more than once and in any order.",
  Keys: "A key lets an agent or a script act for you, without your session: named, limited and revoked by you. It works at this API and at `keyframe-mcp`, not at the Data API, Storage and Realtime.",
  Service: "The state of the service for its operator, and this document.",
};

/** The OpenAPI 3.1 document of the contract. `serverUrl` is the base URL of the functions: https://…/functions/v1. */
export function openApiDocument(serverUrl: string, version: string) {
  return createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "Keyframe",
        version,
        description: ABOUT,
        contact: { name: "Keyframe maintainers" },
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: serverUrl }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: pathsOf(),
      webhooks: events,
      components: {
        securitySchemes: {
          session: {
            type: "http",
            scheme: "bearer",
            bearerFormat: "JWT",
            description:
              "A user's session (supabase.auth.getSession()), or a key that the user made (`kf_…`, `POST /api/keys`).",
          },
          secretKey: {
            type: "apiKey",
            in: "header",
            name: "apikey",
            description:
              "The project's secret key (sb_secret_…), for service-wide webhook endpoints, health details and metrics, and for servers that act for a user (`Keyframe-User`). Never use it in an app.",
          },
        },
      },
    },
    { override: omitDefault },
  );
}

/**
 * Generators such as openapi-typescript make a field with a default required, even in requests. So defaults of bodies are only in the
 * descriptions. Defaults of parameters do no harm. meta.override sets them after this.
 */
function omitDefault({ jsonSchema, io }: { jsonSchema: { default?: unknown }; io: "input" | "output" }): void {
  if (io === "input") delete jsonSchema.default;
}
