import { Anchor } from "@mantine/core";
import { repository } from "../../../package.json";

/** A link to a page of the repository. Shows only the path until `npm run set-owner` has named the repository's owner. */
export function GuideLink({ path }: { path: string }) {
  const address = guideAddress(path, repository.url);
  if (address === null) return <code>{path}</code>;
  return (
    <Anchor inherit underline="always" href={address} target="_blank" rel="noreferrer">
      {path}
    </Anchor>
  );
}

export const guideAddress = (path: string, repositoryUrl: string): string | null =>
  repositoryUrl.includes("<") ? null : `${repositoryUrl.replaceAll(/^git\+|\.git$/g, "")}/blob/main/${path}`;
