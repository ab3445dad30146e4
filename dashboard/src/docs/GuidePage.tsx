import { Group, Typography } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type MouseEvent, useEffect } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { CopyButton } from "../ui/CopyButton.tsx";
import { Missing, PageHead, Unread } from "../ui/page-parts.tsx";
import { DocsNav, DocsPage } from "./DocsNav.tsx";
import classes from "./docs.module.css";
import { type Guide, GUIDES } from "./guide-list.ts";
import { readGuide } from "./guides.ts";
import { type Part, renderGuide } from "./render-guide.ts";

/** A guide of this version, so that it needs no other server. */
export function Component() {
  const { guide = "" } = useParams();
  const found = GUIDES.find(({ name }) => name === guide);
  return found === undefined ? (
    <Missing title="Guide not found" text="The docs list all guides." to="/docs" label="Go to docs" />
  ) : (
    <GuideView key={guide} guide={found} />
  );
}

function GuideView({ guide }: { guide: Guide }) {
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const anchor = search.get("at");
  const read = useQuery({
    queryKey: ["guide", guide.path],
    queryFn: async () => renderGuide(await readGuide(guide), guide.path),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const isRead = read.data !== undefined;
  useEffect(() => {
    if (!isRead || anchor === null) return;
    const frame = requestAnimationFrame(() => document.getElementById(anchor)?.scrollIntoView()); // after the layout has gone to the top
    return () => cancelAnimationFrame(frame);
  }, [isRead, anchor]);
  const follow = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#/']") : null;
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void navigate(link.getAttribute("href")?.slice(1) ?? "");
  };
  return (
    <DocsPage nav={<DocsNav shown={guide.name} />}>
      <PageHead title={guide.title} text={guide.path} />
      <Unread query={read} what="the guide" heights={[400]} />
      <Typography className={classes.guide} onClick={follow}>
        {read.data?.map((part, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a guide never move
          <GuidePart key={at} part={part} />
        ))}
      </Typography>
    </DocsPage>
  );
}

function GuidePart({ part }: { part: Part }) {
  // biome-ignore lint/security/noDangerouslySetInnerHtml: a page of this project, put into the build
  if ("html" in part) return <div dangerouslySetInnerHTML={{ __html: part.html }} />;
  return (
    <div className={classes.code}>
      <pre>{part.code}</pre>
      <Group className={classes.copy}>
        <CopyButton size="compact-xs" text={part.code} label="Copy" />
      </Group>
    </div>
  );
}
