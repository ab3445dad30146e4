import { Alert } from "@mantine/core";
import { useState } from "react";
import { useServices } from "../app/services-context.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { MailSent } from "./MailSent.tsx";
import { pageAddress } from "./page-address.ts";
import { useAuthForm } from "./use-auth-form.ts";

/** After signing up with a project that wants the address confirmed. Says the same where there was an account already. */
export function ConfirmAddress({ email }: { email: string }) {
  const { auth } = useServices();
  const [isSentAgain, setSentAgain] = useState(false);
  const { run, isBusy, problem } = useAuthForm<void>(async () => {
    const options = { emailRedirectTo: pageAddress() };
    const answer = await auth.resend({ type: "signup", email, options });
    setSentAgain(!answer.error);
    return answer;
  });
  return (
    <MailSent text={`A mail is on its way to ${email}. Follow its link to confirm the address and come in.`}>
      {problem !== null && (
        <Alert key={problem.id} color="red" role="alert">
          {problem.sentence}
        </Alert>
      )}
      {isSentAgain && problem === null && (
        <Alert color="green" role="status">
          It was sent again. Look among the unwanted mail too.
        </Alert>
      )}
      <BusyButton variant="default" isBusy={isBusy} onClick={() => run()}>
        Send it again
      </BusyButton>
    </MailSent>
  );
}
