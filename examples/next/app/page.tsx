import Link from "next/link";
import { keyframeOfRequest, refuse } from "../lib/server";
import { SignOut } from "./session";

/** A server component: it reads with the user's session, so it is made for each request. */
export default async function FilmsPage() {
  const keyframe = await keyframeOfRequest();
  const { films } = await keyframe.films.list().catch(refuse);
  return (
    <>
      <header>
        <h1>Films</h1>
        <SignOut />
      </header>
      <form method="post" action="/films">
        <label>
          Title <input name="title" required maxLength={200} />
        </label>
        <label>
          The first shot <textarea name="textPrompt" required maxLength={4000} />
        </label>
        <button type="submit">Make the first frame</button>
      </form>
      <ul>
        {films.map(({ filmId, title }) => (
          <li key={filmId}>
            <Link href={`/films/${filmId}`}>{title}</Link>
          </li>
        ))}
      </ul>
    </>
  );
}
