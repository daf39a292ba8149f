import java.net.*;
// An echo over DatagramSocket: `Echo server PORT N`, `Echo client PORT N`.
public class Echo {
  public static void main(String[] a) throws Exception {
    if (a[0].equals("server")) {
      DatagramSocket s = new DatagramSocket(Integer.parseInt(a[1]));
      byte[] b = new byte[1500];
      for (int i = 0; i < Integer.parseInt(a[2]); i++) {
        DatagramPacket p = new DatagramPacket(b, b.length);
        s.receive(p);
        String t = new String(p.getData(), 0, p.getLength()) + " " + System.nanoTime() + " " + new java.util.Random().nextInt();
        byte[] o = t.getBytes();
        s.send(new DatagramPacket(o, o.length, p.getAddress(), p.getPort()));
      }
    } else {
      DatagramSocket s = new DatagramSocket();
      s.setSoTimeout(500);
      byte[] b = new byte[1500];
      for (int i = 0; i < Integer.parseInt(a[2]); i++) {
        byte[] o = ("ping " + i + " " + System.currentTimeMillis()).getBytes();
        s.send(new DatagramPacket(o, o.length, InetAddress.getByName("127.0.0.1"), Integer.parseInt(a[1])));
        DatagramPacket p = new DatagramPacket(b, b.length);
        // The server may take its time to begin.
        try { s.receive(p); } catch (SocketTimeoutException none) { i--; }
        Thread.sleep(10);
      }
    }
  }
}
