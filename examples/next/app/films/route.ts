import { KeyframeError } from "keyframe-client";
import { keyframeOfRequest } from "../../lib/server";

/** A route handler: makes a film with one shot, starts its first frame, and leads to its page. */
export async function POST(request: Request): Promise<Response> {
  const form = await request.formData();
  const [title, textPrompt] = [String(form.get("title") ?? ""), String(form.get("textPrompt") ?? "")];
  const keyframe = await keyframeOfRequest();
  try {
    const { filmId } = await keyframe.films.create({ title });
    const { projectId } = await keyframe.projects.create({ title: "Shot 1", textPrompt, filmId });
    await keyframe.generate("first-frame", { projectId });
    return new Response(null, { status: 303, headers: { location: `/films/${filmId}` } });
  } catch (error) {
    if (!(error instanceof KeyframeError)) throw error;
    if (error.code === "unauthorized") return new Response(null, { status: 303, headers: { location: "/sign-in" } });
    return new Response(error.message, { status: error.status ?? 502 }); // such as 402 over the budget
  }
}
