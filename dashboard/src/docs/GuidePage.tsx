import { Anchor } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { ErrorNotice } from "../ui/messages.tsx";
import { Missing, PageHead } from "../ui/page-parts.tsx";
import { GUIDES, isGuide } from "./guides.ts";
import classes from "./guide.module.css";

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
  const { data, error, refetch } = useQuery({ queryKey: ["guide", path], queryFn: load, staleTime: Infinity });
  return (
    <>
      <Anchor component={Link} to="/docs" size="sm" className={classes.back}>
        <IconArrowLeft size={16} aria-hidden /> Docs
      </Anchor>
      <PageHead title={title} text={path} />
      {error !== null && <ErrorNotice title="Could not load the guide" error={error} onRetry={() => void refetch()} />}
      <pre className={classes.text}>{data?.default}</pre>
    </>
  );
}
