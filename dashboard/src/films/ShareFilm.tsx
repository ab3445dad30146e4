import { Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Film, Share } from "../../../client/index.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useOnce } from "../queries/use-once.ts";
import { useKeyframe } from "../services.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import { CopyText } from "../ui/CopyButton.tsx";
import { unlessGone } from "../ui/errors.ts";
import { ExpirySelect, expiryAfter } from "../ui/ExpirySelect.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";
import { Unread } from "../ui/PageParts.tsx";
import { Time } from "../ui/Time.tsx";
import { type DialogProps, FormDialog } from "../ui/Dialogs.tsx";

/** The link extends the address of this page, which may be in a folder. */
const linkOf = (token: string) => `${location.href.split("#")[0]}#/shared/${token}`;

export function ShareFilm({ film: { filmId }, isOpen, onClose }: DialogProps & { film: Film }) {
  const keyframe = useKeyframe();
  const [days, setDays] = useState("");
  const shares = useQuery({
    queryKey: queryKeys.shares(filmId),
    queryFn: ({ signal }) => keyframe.films.shares(filmId, { signal }),
    enabled: isOpen,
  });
  const create = useOnce((client, body: { expiresAt: string | undefined }, once) =>
    client.films.share(filmId, body, once),
  );
  const link = create.data && linkOf(create.data.token);
  return (
    <FormDialog
      title="Share film"
      submit="Create link"
      cancel="Close"
      failed="Could not create the link"
      isOpen={isOpen}
      onClose={onClose}
      saving={create}
      done={
        link && (
          <>
            <Text size="sm" role="status">
              Copy the link now. It is not shown again. Anyone who has it can watch the film, without an account.
            </Text>
            <CopyText text={link} label="Copy link" />
          </>
        )
      }
      onSubmit={() => create.mutate({ expiresAt: expiryAfter(days) })}
    >
      <Text size="sm">
        Anyone with the link sees the current film: its title, and the titles and videos of its shots. They see no
        prompts, no costs and no other takes.
      </Text>
      <ExpirySelect label="Link expires" days={[1, 7, 30]} value={days} onChange={setDays} />
      <Unread query={shares} what="the links" heights={[36]} />
      {shares.data !== undefined && shares.data.length > 0 && (
        <Stack component="ul" gap="xs" className="plain-list" aria-label="Links">
          {shares.data.map((share) => (
            <ShareRow key={share.shareId} share={share} />
          ))}
        </Stack>
      )}
    </FormDialog>
  );
}

function ShareRow({ share: { filmId, shareId, createdAt, expiresAt } }: { share: Share }) {
  const keyframe = useKeyframe();
  const revoke = useMutation({ mutationFn: () => keyframe.films.revokeShare(filmId, shareId).catch(unlessGone) });
  return (
    <li>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">
          Created <Time iso={createdAt} />
          {expiresAt !== null && (
            <>
              , expires <Time iso={expiresAt} />
            </>
          )}
        </Text>
        <SmallButton isBusy={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke
        </SmallButton>
      </Group>
      <ErrorNotice title="Could not revoke the link" error={revoke.error} />
    </li>
  );
}
