import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { inject } from "vitest";
import { z } from "zod";
import { forgeToken } from "../api/tokens.ts";
import { signUp, type User } from "../api/user.ts";

type Result = Awaited<ReturnType<Client["callTool"]>>;
type Progress = { progress: number; message?: string | undefined };

/** The official client, connected to the running stack's keyframe-mcp. */
export type Agent = {
  client: Client;
  call(name: string, args?: Record<string, unknown>, onprogress?: (progress: Progress) => void): Promise<Result>;
  /** `structuredContent` of a call that succeeds. */
  ask(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** The sentences of a call that is refused. */
  refusal(name: string, args?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
};

export const mcpUrl = (): string => `${inject("stack").url}/functions/v1/keyframe-mcp`;

export const textOf = ({ content }: Result): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

export async function connectAgent(token: string, url = mcpUrl()): Promise<Agent> {
  const client = new Client({ name: "test agent", version: "1.0.0" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const call: Agent["call"] = (name, args = {}, onprogress) =>
    client.callTool({ name, arguments: args }, onprogress === undefined ? {} : { onprogress });
  return {
    client,
    call,
    ask: async (name, args) => {
      const result = await call(name, args);
      if (result.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${textOf(result)}`);
      return z.record(z.string(), z.unknown()).parse(result.structuredContent);
    },
    refusal: async (name, args) => {
      const result = await call(name, args);
      if (!result.isError) throw new Error(`${name} ${JSON.stringify(args)} was not refused: ${textOf(result)}`);
      return textOf(result);
    },
    close: () => client.close(),
  };
}

/** A token of an OAuth client that the user has approved. */
export const clientToken = (user: User, clientId: string): Promise<string> =>
  forgeToken(user.id, { claims: { client_id: clientId } });

/** A new user and an agent with the user's own session. */
export async function newAgent(): Promise<Agent & { user: User }> {
  const user = await signUp();
  return { user, ...(await connectAgent(user.token)) };
}
