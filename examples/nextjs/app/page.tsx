import { Ads } from './ads';

export default function Page() {
  return (
    <main>
      <h1>Tessera with Next.js</h1>
      <Ads />
    </main>
  );
}
