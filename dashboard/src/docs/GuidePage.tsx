import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { BackLink, Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { GUIDES, isGuide } from "./guides.ts";

/** A guide of this version as its Markdown, so that it needs no other server. */
export function Component() {
  const { guide = "" } = useParams();
  return isGuide(guide) ? (
    <Guide {...GUIDES[guide]} />
  ) : (
    <Missing title="Guide not found" text="The API reference lists all guides." to="/docs" label="Go to docs" />
  );
}

function Guide({ title, path, load }: (typeof GUIDES)[keyof typeof GUIDES]) {
  const guide = useQuery({ queryKey: ["guide", path], queryFn: load, staleTime: Infinity });
  return (
    <>
      <BackLink to="/docs" label="Docs" />
      <PageHead title={title} text={path} />
      <Unread query={guide} what="the guide" heights={[400]} />
      <pre style={{ fontSize: "0.8rem", whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{guide.data?.default}</pre>
    </>
  );
}
