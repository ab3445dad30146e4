import { Webhook } from "standardwebhooks";

/** The first page shows it, and the build sends it a signed event. */
export async function receive(request: Request, secret: string): Promise<Response> {
  // #region shown
  const body = await request.text();
  const event = new Webhook(secret).verify(body, Object.fromEntries(request.headers)); // throws unless it is signed

  await saveOnce(request.headers.get("webhook-id"), event); // it can come twice: the id is the same
  return new Response(null, { status: 204 });
  // #endregion
}

const saved = new Map<string | null, unknown>();
const saveOnce = async (id: string | null, event: unknown) => void saved.set(id, event);
