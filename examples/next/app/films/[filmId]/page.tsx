import { keyframeOfRequest, refuse } from "../../../lib/server";
import { FilmView } from "./FilmView";

/** Reads the film for the first picture of the page. The hook goes on from there. */
export default async function FilmPage({ params }: { params: Promise<{ filmId: string }> }) {
  const { filmId } = await params;
  const keyframe = await keyframeOfRequest();
  return <FilmView film={await keyframe.films.read(filmId).catch(refuse)} />;
}
