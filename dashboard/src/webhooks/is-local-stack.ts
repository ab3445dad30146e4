import type { Config } from "../config.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Whether the service runs on the person's own machine, where receivers may do so too. */
export const isLocalStack = ({ demoUser, supabaseUrl }: Config): boolean =>
  demoUser !== null || LOOPBACK.includes(new URL(supabaseUrl).hostname);
