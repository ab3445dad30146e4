import { App, type IAppConfig, setExperimental } from "@supabase/lite";
import type { LiteOptions } from "./create-lite.ts";
import { log } from "./log.ts";
import type { PlatformConnection } from "./platform-connection.ts";
import { createStorageFiles } from "./storage-files.ts";

/** As in supabase/config.toml. */
export const EXPOSED_SCHEMAS = ["public", "keyframe", "keyframe_worker"];

// Storage is switched off in lite until somebody asks for it.
setExperimental("storage", true);

/** lite with our keys, our connection, files in a folder, and mail that stays on this machine. */
export function createApp(connection: PlatformConnection, options: LiteOptions): App<IAppConfig> {
  const app = new App<IAppConfig>({
    connection,
    api: { enabled: true, schemas: EXPOSED_SCHEMAS },
    auth: {
      enabled: true,
      jwt_secret: options.liteSecret,
      publishable_key: options.publishableKey,
      secret_key: options.secretKey,
      site_url: options.publicUrl,
      jwt_expiry: 3_600,
      email: { enable_signup: true, enable_confirmations: false },
    },
    storage: { enabled: true, file_size_limit: "500MiB" },
    options: {
      drivers: {
        email: {
          send: async ({ to, subject, text = "" }) => {
            // Not its text: the link in it lets in whoever reads the log.
            log("info", "mail", { to, subject });
            options.sendMail({ to, subject, text });
          },
        },
      },
      server: {
        disableStudio: true,
        disableFallback: false,
        middlewares: [
          async (context, next) => {
            // lite asks Auth's tables for user and session at each REST request. PostgREST does not: the token is proof
            // enough, and the gateway has checked it. lite reads the token itself a little later.
            if (context.req.path.startsWith("/rest/v1/")) {
              context.set("userId", "checked by the gateway");
              context.set("sessionId", "checked by the gateway");
            }
            await next();
          },
        ],
      },
    },
  });
  app._storageAdapter = createStorageFiles(options.storageFolder);
  return app;
}
